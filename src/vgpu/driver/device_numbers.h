/* Names and numbers of the virtual GPUs' device files. The preloaded library tells by them which paths are virtual; the
 * driver makes the files. C, for the preloaded library.
 *
 * Linux gives render nodes the minor numbers 128 to 191 and primary nodes 0 to 63, from the lowest, and libdrm tells a
 * node's kind by these ranges. The virtual GPUs take the highest, which real devices do not reach. */
#pragma once

#define LUTHIER_VGPU_DRM_MAJOR 226
#define LUTHIER_VGPU_FIRST_RENDER_MINOR 184
#define LUTHIER_VGPU_FIRST_CARD_MINOR 56
#define LUTHIER_VGPU_MINORS 8 /* of each kind: as many GPUs as there can be */

/* Linux numbers /dev/kfd dynamically, from 254 (or 511) down; nobody asks for the number. */
#define LUTHIER_VGPU_KFD_MAJOR 511

/* Where the virtual GPUs' own folders of sysfs are; real ones are in /sys/devices/pci*. */
#define LUTHIER_VGPU_SYSFS_DEVICES "/sys/devices/luthier-vgpu"
