"""Serves a folder's files over HTTP/1.1, each answer a fixed time late, from memory.

    late_server.py FOLDER SECONDS

Prints its port, then serves until its standard input closes.
"""
import asyncio, os, sys, urllib.parse


async def main(folder, delay):
    bodies = {}

    async def answer(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = urllib.parse.unquote(head.split(b" ", 2)[1].decode("ascii").split("?")[0])
                name = os.path.basename(path)
                if name not in bodies:
                    try:
                        with open(os.path.join(folder, name), "rb") as file:
                            bodies[name] = file.read()
                    except OSError:
                        bodies[name] = None
                body = bodies[name]
                await asyncio.sleep(delay)
                if body is None:
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                else:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
