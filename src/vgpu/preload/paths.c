// libluthier-vgpu.so: makes a process see the virtual GPUs' kernel driver.
//
// ROCm reaches the kernel by device files (/dev/kfd, /dev/dri/renderD*) and by files of sysfs. `luthier run` preloads
// this library for virtual runs; it stands in front of the C library's functions that take paths or act on device
// files. Paths of the virtual driver are redirected: device files to the driver itself, others to files in a folder
// that the driver has filled. Everything else passes through after the comparison of a few characters.
//
// The driver, a large library, is brought in by the first call on a virtual path (driver.c), so that processes without
// GPU work pay nothing. Plain C on libc alone, no constructor, no thread, no allocation, no table of descriptors: it
// sits in every child process too.
//
// This file decides which paths are virtual. Folders that real devices share with virtual ones are listed by the
// driver's tree, which has all of both; what is in them is virtual only for the virtual GPUs' own names.
//
// Not covered: paths relative to a folder, except from inside the driver's tree; programs without libc, and raw system
// calls.

#define _GNU_SOURCE
#include "preload.h"

#include "vgpu/driver/device_numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// A card's number is virtual if there is no real card of that number.
enum Extent { below, folderAlone, renderNode, card };

static const struct Rule {
  const char *prefix;
  enum Extent extent;
} rules[] = {
    {"/dev/kfd", below},
    {"/dev/dri", folderAlone},
    {"/dev/dri/renderD", renderNode},
    {"/dev/dri/card", card},
    {"/sys/class/kfd", below},
    {"/sys/class/drm", folderAlone},
    {"/sys/class/drm/renderD", renderNode},
    {"/sys/class/drm/card", card},
    {"/sys/dev/char/226:", renderNode},
    {"/sys/dev/char/226:", card},
    {"/sys/devices/virtual/kfd", below},
    {LUTHIER_VGPU_SYSFS_DEVICES, below},
    {"/sys/module/amdgpu", below},
    {LUTHIER_VGPU_PRODUCT_NAMES, below},
    {LUTHIER_VGPU_PRODUCT_NAMES_OF_AMD, below},
};

// What follows `prefix` in `path`; null when it does not begin so. Repeated slashes and "." are as one slash.
static const char *after(const char *path, const char *prefix) {
  for (; *prefix; ++prefix) {
    if (*path != *prefix)
      return NULL;
    ++path;
    if (*prefix == '/')
      while (*path == '/' || (*path == '.' && path[1] == '/'))
        ++path;
  }
  return path;
}

static int endsComponent(const char *rest) { return *rest == '\0' || *rest == '/'; }

static int endsFolder(const char *rest) {
  return endsComponent(rest) && rest[strspn(rest, "/.")] == '\0' && !strstr(rest, "..");
}

// The number that a component ends with; -1 when there is none, or it is too large to be one.
static int numberIn(const char *rest) {
  int number = 0;
  const char *digit = rest;
  for (; *digit >= '0' && *digit <= '9' && number < 1000; ++digit)
    number = number * 10 + (*digit - '0');
  return digit != rest && endsComponent(digit) ? number : -1;
}

static int isRenderNode(int number) {
  return number >= LUTHIER_VGPU_FIRST_RENDER_MINOR &&
         number < LUTHIER_VGPU_FIRST_RENDER_MINOR + LUTHIER_VGPU_RENDER_MINORS;
}

RARE static int isRealCard(const char *prefix, int number) {
  const int before = errno;
  char path[64];
  snprintf(path, sizeof path, "%s%d", prefix, number);
  const long missing = syscall(SYS_faccessat, AT_FDCWD, path, F_OK);
  errno = before;
  return !missing;
}

static int applies(const struct Rule *rule, const char *rest) {
  switch (rule->extent) {
  case below:
    return endsComponent(rest);
  case folderAlone:
    return endsFolder(rest);
  case renderNode:
    return isRenderNode(numberIn(rest));
  case card: {
    const int number = numberIn(rest);
    return number >= 0 && number < LUTHIER_VGPU_CARD_MINORS && !isRealCard(rule->prefix, number);
  }
  }
  return 0;
}

// `*rest` is what follows the rule's prefix.
static const struct Rule *findRule(const char *path, const char **rest) {
  if (!path || *path != '/')
    return NULL;
  for (size_t n = 0; n < sizeof rules / sizeof *rules; ++n) {
    *rest = after(path, rules[n].prefix);
    if (*rest && applies(&rules[n], *rest))
      return &rules[n];
  }
  return NULL;
}

int luthierIsVirtualPath(const char *path) {
  const char *rest;
  return findRule(path, &rest) != NULL;
}

int luthierFindVirtual(const char *path, struct VirtualPath *found) {
  const char *rest = NULL;
  const struct Rule *rule = findRule(path, &rest);
  found->driver = rule ? luthierDriver() : NULL;
  if (!found->driver)
    return 0;
  found->treeLength = strlen(found->driver->tree);
  const size_t prefixLength = strlen(rule->prefix), restLength = strlen(rest);
  if (found->treeLength + prefixLength + restLength >= sizeof found->file)
    return 0; // the kernel will say that it is too long, or that there is no such file
  memcpy(found->file, found->driver->tree, found->treeLength);
  memcpy(found->file + found->treeLength, rule->prefix, prefixLength);
  memcpy(found->file + found->treeLength + prefixLength, rest, restLength + 1);
  found->device = found->driver->find(found->file + found->treeLength);
  return 1;
}
