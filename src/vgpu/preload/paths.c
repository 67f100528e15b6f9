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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum Extent { below, folderAlone, numbered };

static const struct Rule {
  const char *prefix;
  enum Extent extent;
  unsigned first; // of `numbered`: the prefix is followed by one of LUTHIER_VGPU_MINORS numbers
} rules[] = {
    {"/dev/kfd", below, 0},
    {"/dev/dri", folderAlone, 0},
    {"/dev/dri/renderD", numbered, LUTHIER_VGPU_FIRST_RENDER_MINOR},
    {"/dev/dri/card", numbered, LUTHIER_VGPU_FIRST_CARD_MINOR},
    {"/sys/class/kfd", below, 0},
    {"/sys/class/drm", folderAlone, 0},
    {"/sys/class/drm/renderD", numbered, LUTHIER_VGPU_FIRST_RENDER_MINOR},
    {"/sys/class/drm/card", numbered, LUTHIER_VGPU_FIRST_CARD_MINOR},
    {"/sys/dev/char/226:", numbered, LUTHIER_VGPU_FIRST_RENDER_MINOR},
    {"/sys/dev/char/226:", numbered, LUTHIER_VGPU_FIRST_CARD_MINOR},
    {"/sys/devices/virtual/kfd", below, 0},
    {LUTHIER_VGPU_SYSFS_DEVICES, below, 0},
    {"/sys/module/amdgpu", below, 0},
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

// `*rest` is what follows the rule's prefix.
static const struct Rule *findRule(const char *path, const char **rest) {
  if (!path || *path != '/')
    return NULL;
  for (size_t n = 0; n < sizeof rules / sizeof *rules; ++n) {
    const char *end = after(path, rules[n].prefix);
    if (!end)
      continue;
    *rest = end;
    switch (rules[n].extent) {
    case below:
      if (endsComponent(end))
        return &rules[n];
      break;
    case folderAlone:
      if (endsComponent(end) && end[strspn(end, "/.")] == '\0' && !strstr(end, ".."))
        return &rules[n];
      break;
    case numbered: {
      unsigned number = 0;
      const char *digit = end;
      for (; *digit >= '0' && *digit <= '9' && number < 1000; ++digit)
        number = number * 10 + (unsigned)(*digit - '0');
      if (digit != end && endsComponent(digit) && number >= rules[n].first &&
          number < rules[n].first + LUTHIER_VGPU_MINORS)
        return &rules[n];
      break;
    }
    }
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
