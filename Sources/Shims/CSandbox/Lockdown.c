#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "CSandbox.h"

#include <errno.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) \
  || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#else
#define HAS_SANITIZER 0
#endif

bool calotype_sandbox_has_sanitizer(void) { return HAS_SANITIZER; }

#ifdef __linux__

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: Privileges

static int drop_privileges(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  struct {
    uint32_t version;
    int pid;
  } header = {0x20080522, 0};
  struct {
    uint32_t effective, permitted, inheritable;
  } none[2];
  memset(none, 0, sizeof none);
  if (syscall(__NR_capset, &header, none) != 0) return errno;
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return errno;
  // Last, since a change of privileges may take it back. A parent that went before is noticed by the end of
  // the connection.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  return 0;
}

// MARK: Limits

static int set_limits(uint64_t memory_limit, uint64_t processor_seconds) {
  const struct {
    int which;
    rlim_t value;
  } limits[] = {
#if !HAS_SANITIZER
    // Shadow memory takes terabytes of addresses.
    {RLIMIT_AS, memory_limit},
#endif
    {RLIMIT_CORE, 0},
    {RLIMIT_FSIZE, 0},
    {RLIMIT_NPROC, 0},
    {RLIMIT_MEMLOCK, 0},
    // 0 to 3, one that arrives, and one to look at /proc with, here, before the file system goes.
    {RLIMIT_NOFILE, 8},
    {RLIMIT_CPU, processor_seconds},
  };
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    const struct rlimit limit = {limits[i].value, limits[i].value};
    if (setrlimit(limits[i].which, &limit) != 0) return errno;
  }
  return 0;
}

// MARK: Landlock

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_restrict_self 446
#endif

// Landlock restricts one thread and what it starts.
static bool has_other_threads(void) {
  DIR *folder = opendir("/proc/self/task");
  if (folder == NULL) return true;
  int count = 0;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
  closedir(folder);
  return count != 1;
}

static int enter_landlock(void) {
  const long version = syscall(__NR_landlock_create_ruleset, NULL, 0, 1);
  if (version < 0) return errno;
  if (has_other_threads()) return CALOTYPE_SANDBOX_THREADS;
  // What each version of the kernel's interface can forbid; nothing is allowed again.
  struct {
    uint64_t file_system, network, scopes;
  } rules = {(1u << 13) - 1, 0, 0};
  if (version >= 2) rules.file_system |= 1u << 13;  // linking and renaming across folders
  if (version >= 3) rules.file_system |= 1u << 14;  // truncating
  if (version >= 5) rules.file_system |= 1u << 15;  // device control
  if (version >= 4) rules.network = 3;              // binding and connecting of TCP
  if (version >= 6) rules.scopes = 3;               // abstract sockets, signals
  const size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const int ruleset = (int)syscall(__NR_landlock_create_ruleset, &rules, size, 0);
  if (ruleset < 0) return errno;
  const int error = syscall(__NR_landlock_restrict_self, ruleset, 0) != 0 ? errno : 0;
  close(ruleset);
  return error;
}

// MARK: Seccomp

#if defined(__x86_64__)
#define FILTER_PROCESSOR CALOTYPE_SANDBOX_X86_64
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FILTER_PROCESSOR CALOTYPE_SANDBOX_ARM64
#endif

#ifdef FILTER_PROCESSOR

static int enter_seccomp(void) {
  calotype_filter_step steps[CALOTYPE_SANDBOX_MOST_STEPS];
  const size_t count =
    calotype_sandbox_filter(FILTER_PROCESSOR, (uint32_t)getpid(), steps, CALOTYPE_SANDBOX_MOST_STEPS);
  if (count > CALOTYPE_SANDBOX_MOST_STEPS) return E2BIG;
  const struct sock_fprog program = {(unsigned short)count, (struct sock_filter *)steps};
  const long error = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  return error < 0 ? errno : error > 0 ? CALOTYPE_SANDBOX_THREADS : 0;
}

#endif

void calotype_sandbox_enter(
  uint64_t memory_limit, uint64_t processor_seconds, uint32_t layers,
  int32_t errors[CALOTYPE_SANDBOX_LAYER_COUNT]
) {
  for (int layer = 0; layer < CALOTYPE_SANDBOX_LAYER_COUNT; layer++) {
    if ((layers >> layer & 1) == 0) {
      errors[layer] = CALOTYPE_SANDBOX_NOT_ASKED;
      continue;
    }
    switch (layer) {
      case CALOTYPE_SANDBOX_PRIVILEGES: errors[layer] = drop_privileges(); break;
      case CALOTYPE_SANDBOX_LIMITS:
        errors[layer] = set_limits(memory_limit, processor_seconds);
        if (HAS_SANITIZER && errors[layer] == 0) errors[layer] = CALOTYPE_SANDBOX_SANITIZER;
        break;
#if HAS_SANITIZER
      default: errors[layer] = CALOTYPE_SANDBOX_SANITIZER; break;
#else
      case CALOTYPE_SANDBOX_LANDLOCK: errors[layer] = enter_landlock(); break;
#ifdef FILTER_PROCESSOR
      case CALOTYPE_SANDBOX_SECCOMP: errors[layer] = enter_seccomp(); break;
#else
      case CALOTYPE_SANDBOX_SECCOMP: errors[layer] = CALOTYPE_SANDBOX_PROCESSOR; break;
#endif
#endif
    }
  }
}

#else

void calotype_sandbox_enter(
  uint64_t memory_limit, uint64_t processor_seconds, uint32_t layers,
  int32_t errors[CALOTYPE_SANDBOX_LAYER_COUNT]
) {
  (void)memory_limit;
  (void)processor_seconds;
  (void)layers;
  for (int layer = 0; layer < CALOTYPE_SANDBOX_LAYER_COUNT; layer++) errors[layer] = ENOSYS;
}

#endif
