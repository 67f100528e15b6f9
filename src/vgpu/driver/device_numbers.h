/* Names and numbers of the virtual GPUs' device files. The preloaded library tells by them which paths are virtual; the
 * driver makes the files. C, for the preloaded library.
 *
 * Linux gives render nodes the minor numbers 128 to 191 and primary nodes (cards) 0 to 63, from the lowest, and libdrm
 * tells a node's kind by these ranges. The virtual GPUs' render nodes take the highest, which real devices do not
 * reach. Their cards take the lowest that are free: rocm_smi of ROCm 5 counts cards and looks for as many, from card0
 * on. */
#pragma once

#define LUTHIER_VGPU_DRM_MAJOR 226
#define LUTHIER_VGPU_FIRST_RENDER_MINOR 184
#define LUTHIER_VGPU_RENDER_MINORS 8 /* as many GPUs as there can be */
#define LUTHIER_VGPU_CARD_MINORS 64

/* Linux numbers /dev/kfd dynamically, from 254 (or 511) down; nobody asks for the number. */
#define LUTHIER_VGPU_KFD_MAJOR 511

/* Where libdrm finds the names of products; AMD's packages have their own. */
#define LUTHIER_VGPU_PRODUCT_NAMES "/usr/share/libdrm/amdgpu.ids"
#define LUTHIER_VGPU_PRODUCT_NAMES_OF_AMD "/opt/amdgpu/share/libdrm/amdgpu.ids"

/* Where the virtual GPUs' own folders of sysfs are; real ones are in /sys/devices/pci*. */
#define LUTHIER_VGPU_SYSFS_DEVICES "/sys/devices/luthier-vgpu"
