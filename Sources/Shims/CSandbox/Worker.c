#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "CSandbox.h"

#include <errno.h>

void calotype_shared_flag_set(void *flag, uint32_t value) {
  __atomic_store_n((uint32_t *)flag, value, __ATOMIC_RELAXED);
}

uint32_t calotype_shared_flag_get(const void *flag) {
  return __atomic_load_n((const uint32_t *)flag, __ATOMIC_RELAXED);
}

#ifdef __linux__

#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#define __NR_pidfd_send_signal 424
#endif

int calotype_worker_spawn(
  const char *path, char *const arguments[], char *const environment[], int *connection, pid_t *process,
  int *handle
) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  // The socket first: it may have one of the numbers below 3 in a parent that has closed those.
  int error = posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
  for (int number = 0; number < 3 && error == 0; number++) {
    error = posix_spawn_file_actions_addopen(
      &actions, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0);
  }
  if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &none);
  if (error == 0) error = posix_spawnattr_setsigdefault(&attributes, &all);
  // A group of its own: an interrupt from the terminal is for the parent, which ends its work in order.
  if (error == 0) error = posix_spawnattr_setpgroup(&attributes, 0);
  if (error == 0) {
    error = posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  if (error == 0) error = posix_spawn(process, path, &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return error;
  }
  *connection = ends[0];
  *handle = (int)syscall(__NR_pidfd_open, *process, 0);
  return 0;
}

void calotype_worker_kill(pid_t process, int handle) {
  if (handle >= 0) {
    syscall(__NR_pidfd_send_signal, handle, SIGKILL, NULL, 0);
  } else if (process > 0) {
    kill(process, SIGKILL);
  }
}

bool calotype_worker_await_end(int handle, int milliseconds) {
  struct pollfd end = {handle, POLLIN, 0};
  int result;
  do result = poll(&end, 1, milliseconds);
  while (result < 0 && errno == EINTR);
  return result > 0;
}

bool calotype_worker_is_stopped(pid_t process) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  return waitid(P_PID, (id_t)process, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == process;
}

int calotype_socket_send(int connection, const void *bytes, size_t count, int descriptor) {
  struct iovec part = {(void *)bytes, count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  if (descriptor >= 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  while (sendmsg(connection, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

ssize_t calotype_socket_receive(int connection, void *bytes, size_t capacity, int *descriptor) {
  struct iovec part = {bytes, capacity};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  // Without room for them the kernel drops descriptors that the other side sends.
  if (descriptor != NULL) {
    *descriptor = -1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
  }
  ssize_t count;
  do count = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  if (descriptor != NULL) {
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS
        && header->cmsg_len == CMSG_LEN(sizeof(int))) {
      memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    }
  }
  return message.msg_flags & MSG_TRUNC ? -EMSGSIZE : count;
}

int calotype_socket_set_patience(int connection, uint32_t microseconds) {
  const struct timeval time = {microseconds / 1000000, microseconds % 1000000};
  // A worker that was taken over may answer without reading what it is asked, until the socket is full.
  if (setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) != 0) return errno;
  return setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) != 0 ? errno : 0;
}

int calotype_shared_memory_create(size_t count) {
  const int descriptor = (int)syscall(__NR_memfd_create, "calotype", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return -errno;
  if (ftruncate(descriptor, (off_t)count) != 0
      || fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const int error = errno;
    close(descriptor);
    return -error;
  }
  return descriptor;
}

void *calotype_shared_memory_map(int descriptor, size_t count, bool is_writable) {
  return mmap(
    NULL, count, is_writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
}

#else

#include <sys/mman.h>

int calotype_worker_spawn(
  const char *path, char *const arguments[], char *const environment[], int *connection, pid_t *process,
  int *handle
) {
  (void)path, (void)arguments, (void)environment, (void)connection, (void)process, (void)handle;
  return ENOSYS;
}
void calotype_worker_kill(pid_t process, int handle) { (void)process, (void)handle; }
bool calotype_worker_await_end(int handle, int milliseconds) {
  (void)handle, (void)milliseconds;
  return true;
}
bool calotype_worker_is_stopped(pid_t process) {
  (void)process;
  return false;
}
int calotype_socket_send(int connection, const void *bytes, size_t count, int descriptor) {
  (void)connection, (void)bytes, (void)count, (void)descriptor;
  return ENOSYS;
}
ssize_t calotype_socket_receive(int connection, void *bytes, size_t capacity, int *descriptor) {
  (void)connection, (void)bytes, (void)capacity, (void)descriptor;
  return -ENOSYS;
}
int calotype_socket_set_patience(int connection, uint32_t microseconds) {
  (void)connection, (void)microseconds;
  return ENOSYS;
}
int calotype_shared_memory_create(size_t count) {
  (void)count;
  return -ENOSYS;
}
void *calotype_shared_memory_map(int descriptor, size_t count, bool is_writable) {
  (void)descriptor, (void)count, (void)is_writable;
  return MAP_FAILED;
}

#endif
