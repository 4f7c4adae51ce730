#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "CSandbox.h"

#ifdef __linux__

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

_Static_assert(
  sizeof(calotype_filter_step) == sizeof(struct sock_filter), "steps are the kernel's");

typedef enum { ALLOW, ANSWER, WITHOUT_BITS, OWN_PROCESS } kind;

// The numbers of both processors stand here, so that each build can make, and the tests can try, the filters of
// both. Those of the processor that is built for are the kernel's, or it is not built.
#if defined(__x86_64__)
#define CHECK(name, x86_64, arm64) _Static_assert(__NR_##name == (x86_64), #name " has another number");
#elif defined(__aarch64__)
#define CHECK(name, x86_64, arm64) _Static_assert(__NR_##name == (arm64), #name " has another number");
#else
#define CHECK(name, x86_64, arm64)
#endif

#ifndef __NR_clone3
#define __NR_clone3 435
#endif
#ifndef __NR_rseq
#ifdef __x86_64__
#define __NR_rseq 334
#else
#define __NR_rseq 293
#endif
#endif

#define CALLS(CALL) \
  /* The connection. */ \
  CALL(recvmsg, 47, 212, ALLOW, 0, 0) \
  CALL(sendmsg, 46, 211, ALLOW, 0, 0) \
  CALL(close, 3, 57, ALLOW, 0, 0) \
  /* Memory, never to be run. */ \
  CALL(mmap, 9, 222, WITHOUT_BITS, 2, PROT_EXEC) \
  CALL(mprotect, 10, 226, WITHOUT_BITS, 2, PROT_EXEC) \
  CALL(munmap, 11, 215, ALLOW, 0, 0) \
  CALL(mremap, 25, 216, ALLOW, 0, 0) \
  CALL(madvise, 28, 233, ALLOW, 0, 0) \
  CALL(brk, 12, 214, ALLOW, 0, 0) \
  /* Locks, time, chance. */ \
  CALL(futex, 202, 98, ALLOW, 0, 0) \
  CALL(clock_gettime, 228, 113, ALLOW, 0, 0) \
  CALL(gettimeofday, 96, 169, ALLOW, 0, 0) \
  CALL(sched_yield, 24, 124, ALLOW, 0, 0) \
  CALL(getrandom, 318, 278, ALLOW, 0, 0) \
  /* Questions about this process and the machine that codecs and the C library ask. */ \
  CALL(getpid, 39, 172, ALLOW, 0, 0) \
  CALL(gettid, 186, 178, ALLOW, 0, 0) \
  CALL(sysinfo, 99, 179, ALLOW, 0, 0) \
  CALL(sched_getaffinity, 204, 123, ALLOW, 0, 0) \
  /* The end, in order or not. */ \
  CALL(exit_group, 231, 94, ALLOW, 0, 0) \
  CALL(exit, 60, 93, ALLOW, 0, 0) \
  CALL(rt_sigreturn, 15, 139, ALLOW, 0, 0) \
  CALL(rt_sigprocmask, 14, 135, ALLOW, 0, 0) \
  CALL(rt_sigaction, 13, 134, ALLOW, 0, 0) \
  CALL(tgkill, 234, 131, OWN_PROCESS, 0, 0) \
  /* Messages to /dev/null: there is nothing else to write to. */ \
  CALL(write, 1, 64, ALLOW, 0, 0) \
  CALL(writev, 20, 66, ALLOW, 0, 0) \
  /* Looks that a library may take, and does without an answer to. */ \
  CALL(ioctl, 16, 29, ANSWER, 0, ENOTTY) \
  CALL(fstat, 5, 80, ANSWER, 0, EPERM) \
  CALL(newfstatat, 262, 79, ANSWER, 0, EPERM) \
  CALL(prctl, 157, 167, ANSWER, 0, EPERM) \
  CALL(clone3, 435, 435, ANSWER, 0, ENOSYS) \
  CALL(rseq, 334, 293, ANSWER, 0, ENOSYS)

#define CHECK_CALL(name, x86_64, arm64, kind, argument, value) CHECK(name, x86_64, arm64)
CALLS(CHECK_CALL)

static const struct {
  uint32_t x86_64, arm64;
  kind kind;
  uint32_t argument, value;
} calls[] = {
#define CALL_ROW(name, x86_64, arm64, kind, argument, value) {x86_64, arm64, kind, argument, value},
  CALLS(CALL_ROW)
};

typedef struct {
  calotype_filter_step *steps;
  size_t count, capacity;
} program;

static void add(program *to, uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false) {
  if (to->count < to->capacity) to->steps[to->count] = (calotype_filter_step){code, if_true, if_false, value};
  to->count++;
}

static void load(program *to, size_t offset) { add(to, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
static void answer(program *to, uint32_t what) { add(to, BPF_RET | BPF_K, what, 0, 0); }

// Passes over so many steps where what is loaded is, or is not, the value.
static void skip_if_equal(program *to, uint32_t value, uint8_t count) {
  add(to, BPF_JMP | BPF_JEQ | BPF_K, value, count, 0);
}
static void skip_unless_equal(program *to, uint32_t value, uint8_t count) {
  add(to, BPF_JMP | BPF_JEQ | BPF_K, value, 0, count);
}

size_t calotype_sandbox_filter(
  calotype_sandbox_processor processor, uint32_t own, calotype_filter_step *steps, size_t capacity
) {
  program to = {steps, 0, capacity};
  const bool is_x86_64 = processor == CALOTYPE_SANDBOX_X86_64;
  load(&to, offsetof(struct seccomp_data, arch));
  skip_if_equal(&to, is_x86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, 1);
  answer(&to, SECCOMP_RET_KILL_PROCESS);
  load(&to, offsetof(struct seccomp_data, nr));
  // The x32 calls have the same processor and other numbers: above, and so none of those below.
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    const uint32_t number = is_x86_64 ? calls[i].x86_64 : calls[i].arm64;
    // The low half of an argument: both processors store it first.
    const size_t argument = offsetof(struct seccomp_data, args) + 8 * calls[i].argument;
    switch (calls[i].kind) {
      case ALLOW:
        skip_unless_equal(&to, number, 1);
        answer(&to, SECCOMP_RET_ALLOW);
        break;
      case ANSWER:
        skip_unless_equal(&to, number, 1);
        answer(&to, SECCOMP_RET_ERRNO | calls[i].value);
        break;
      case WITHOUT_BITS:
        skip_unless_equal(&to, number, 4);
        load(&to, argument);
        add(&to, BPF_JMP | BPF_JSET | BPF_K, calls[i].value, 0, 1);
        answer(&to, SECCOMP_RET_KILL_PROCESS);
        answer(&to, SECCOMP_RET_ALLOW);
        break;
      case OWN_PROCESS:
        skip_unless_equal(&to, number, 4);
        load(&to, argument);
        skip_if_equal(&to, own, 1);
        answer(&to, SECCOMP_RET_KILL_PROCESS);
        answer(&to, SECCOMP_RET_ALLOW);
        break;
    }
  }
  answer(&to, SECCOMP_RET_KILL_PROCESS);
  return to.count;
}

#else

size_t calotype_sandbox_filter(
  calotype_sandbox_processor processor, uint32_t own, calotype_filter_step *steps, size_t capacity
) {
  (void)processor, (void)own, (void)steps, (void)capacity;
  return 0;
}

#endif
