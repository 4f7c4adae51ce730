"""Runs commands and measures them with all of their child processes; serves folders with nginx."""
import contextlib, os, pathlib, random, shutil, signal, socket, statistics, subprocess, tempfile, threading, time


class Measured:
    """One finished command."""

    def __init__(self, status, seconds, cpu, peak):
        self.status = status
        self.seconds = seconds
        self.cpu = cpu
        self.peak = peak


def children_of(pid):
    """A process and all below it, as far as they are still there."""
    found, waiting = [], [pid]
    while waiting:
        process = waiting.pop()
        found.append(process)
        try:
            for thread in os.listdir(f"/proc/{process}/task"):
                with open(f"/proc/{process}/task/{thread}/children") as file:
                    waiting.extend(int(child) for child in file.read().split())
        except OSError:
            pass
    return found


def proportional_bytes(pid):
    """Resident bytes, those shared with other processes counted by their share."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


class Sampler(threading.Thread):
    """Watches the memory of a process tree until it is stopped."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid = pid
        self.peak = 0
        self.ended = threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.03):
            self.peak = max(self.peak, sum(proportional_bytes(pid) for pid in children_of(self.pid)))

    def stop(self):
        self.ended.set()
        self.join()
        return self.peak


def run(command, log, stop_when=None):
    """Runs a command to its end, or kills it once a condition holds (looked at each 5 ms)."""
    with open(log, "ab") as output:
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        sampler = Sampler(process.pid)
        while stop_when is not None:
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
            if stop_when():
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.005)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        return Measured(process.returncode, seconds, usage.ru_utime + usage.ru_stime, sampler.stop())


CONFIGURATION = """
daemon off;
{user}
worker_processes 2;
pid "{prefix}/nginx.pid";
error_log "{prefix}/error.log" notice;
events {{ worker_connections 4096; }}
http {{
  types {{ image/png png; image/jpeg jpg jpeg; image/webp webp; }}
  sendfile on; tcp_nodelay on; keepalive_requests 1000000; open_file_cache max=20000;
  log_format short "$request_uri $status";
  access_log "{prefix}/access.log" short;
  client_body_temp_path "{prefix}/b"; proxy_temp_path "{prefix}/p"; fastcgi_temp_path "{prefix}/f";
  uwsgi_temp_path "{prefix}/u"; scgi_temp_path "{prefix}/s";
  server {{ listen 127.0.0.1:{port} reuseport backlog=4096; root "{folder}"; expires 1h; }}
}}
"""


class Nginx:
    """nginx on a free loopback port."""

    def __init__(self, folder):
        self.prefix = tempfile.mkdtemp(prefix="calotype-bench-")
        executable = shutil.which("nginx") or "/usr/sbin/nginx"
        for _ in range(20):
            self.port = random.randint(20000, 32000)
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    continue
            configuration = pathlib.Path(self.prefix, "nginx.conf")
            configuration.write_text(CONFIGURATION.format(
                user="user root;" if os.geteuid() == 0 else "", prefix=self.prefix, port=self.port, folder=folder))
            self.process = subprocess.Popen(
                [executable, "-p", self.prefix, "-e", f"{self.prefix}/error.log", "-c", configuration],
                stderr=subprocess.DEVNULL)
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                        return
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise SystemExit(f"nginx did not start: {pathlib.Path(self.prefix, 'error.log').read_text()}")

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def requests(self):
        """How many requests were answered so far."""
        with open(f"{self.prefix}/access.log", "rb") as file:
            return sum(1 for _ in file)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.prefix, ignore_errors=True)


@contextlib.contextmanager
def late_server(python, folder, seconds):
    """The server whose every answer is late; its address."""
    script = pathlib.Path(__file__).with_name("late_server.py")
    process = subprocess.Popen(
        [python, script, folder, str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.stdin.close()
        process.wait()


def median(values):
    return statistics.median(values) if values else 0.0
