// Locks itself down as a worker does, tries one thing, and says what came of it.
//
//   sandbox-probe LAYERS ATTEMPT
//
// LAYERS has a bit for each layer of the sandbox. The exit status is 0 where the attempt succeeded, and the
// error's number where it was refused. A process that is ended cannot say anything; who waits for it sees.
#define _GNU_SOURCE
#include "CSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void *nothing(void *argument) { return argument; }

static int failed(long result) { return result < 0 ? errno : 0; }

static int attempt(const char *what) {
  char *const none[] = {NULL};
  if (strcmp(what, "nothing") == 0) return 0;
  if (strcmp(what, "open") == 0) return failed(open("/etc/passwd", O_RDONLY));
  if (strcmp(what, "create") == 0) return failed(open("/tmp/calotype-probe", O_CREAT | O_WRONLY, 0600));
  if (strcmp(what, "list") == 0) return failed(open("/", O_RDONLY | O_DIRECTORY));
  if (strcmp(what, "unlink") == 0) return failed(unlink("/tmp/calotype-probe-none"));
  if (strcmp(what, "stat") == 0) {
    struct stat status;
    return failed(stat("/etc/passwd", &status));
  }
  if (strcmp(what, "socket") == 0) return failed(socket(AF_INET, SOCK_STREAM, 0));
  if (strcmp(what, "socketpair") == 0) {
    int ends[2];
    return failed(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
  }
  if (strcmp(what, "execute") == 0) return failed(execve("/bin/true", none, none));
  if (strcmp(what, "fork") == 0) return failed(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (strcmp(what, "thread") == 0) {
    pthread_t thread;
    return pthread_create(&thread, NULL, nothing, NULL);
  }
  if (strcmp(what, "trace") == 0) return failed(ptrace(PTRACE_TRACEME, 0, 0, 0));
  if (strcmp(what, "kill") == 0) return failed(syscall(SYS_kill, 1, 0));
  if (strcmp(what, "tgkill") == 0) return failed(syscall(SYS_tgkill, 1, 1, 0));
  if (strcmp(what, "abort") == 0) abort();
  if (strcmp(what, "crash") == 0) *(volatile int *)8 = 1;
  if (strcmp(what, "run-memory") == 0) {
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno : 0;
  }
  if (strcmp(what, "make-runnable") == 0) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return failed(mprotect(page, 4096, PROT_READ | PROT_EXEC));
  }
  if (strcmp(what, "memory") == 0) return malloc((size_t)4 << 30) == NULL ? ENOMEM : 0;
  if (strcmp(what, "large-file") == 0) {
    const int file = memfd_create("x", 0);
    return file < 0 ? errno : failed(write(file, "x", 1));
  }
  if (strcmp(what, "raise-limit") == 0) {
    const struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    return failed(setrlimit(RLIMIT_AS, &limit));
  }
  if (strcmp(what, "mount") == 0) return failed(syscall(SYS_unshare, 0x10000000));
  if (strcmp(what, "bpf") == 0) return failed(syscall(SYS_bpf, 0, 0, 0));
  if (strcmp(what, "ring") == 0) return failed(syscall(SYS_io_uring_setup, 1, 0));
  if (strcmp(what, "dumpable") == 0) return prctl(PR_GET_DUMPABLE) == 0 ? EPERM : 0;
  if (strcmp(what, "privileges") == 0) return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : 0;
  return 255;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: sandbox-probe LAYERS ATTEMPT\n");
    return 2;
  }
  int32_t errors[CALOTYPE_SANDBOX_LAYER_COUNT];
  const unsigned layers = (unsigned)strtoul(arguments[1], NULL, 0);
  calotype_sandbox_enter((uint64_t)1 << 30, 60, layers, errors);
  for (int layer = 0; layer < CALOTYPE_SANDBOX_LAYER_COUNT; layer++) {
    if ((layers >> layer & 1) != 0 && errors[layer] != 0) {
      char text[64];
      const int length = snprintf(text, sizeof text, "layer %d: %d\n", layer, errors[layer]);
      if (write(1, text, (size_t)length) < 0) return 254;
    }
  }
  _exit(attempt(arguments[2]));
}
