/** The address of `weir dev`, in front of a server that is started here. */
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { once } from "node:events";
import { afterEach, expect, it } from "vitest";
import { Front } from "../../src/cli/dev/front.ts";
import { quietPort } from "../../scripts/local-server.ts";

const HANDSHAKE =
  "GET /threads/t/stream/events HTTP/1.1\r\nhost: weir\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** A server that accepts each WebSocket. */
async function upstream(): Promise<string> {
  const server: Server = createServer();
  server.on("upgrade", (_request, socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.end());
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function frontOf(target: () => Promise<string | undefined>): Promise<{ front: Front; open: () => Socket }> {
  const port = await quietPort();
  const front = new Front({ port, target, onRequest: () => undefined });
  await front.listen();
  ends.push(() => front.close());
  const open = () => {
    const socket = connect(port, "127.0.0.1", () => socket.write(HANDSHAKE));
    return socket.on("error", () => undefined);
  };
  return { front, open };
}

it("is not idle while a WebSocket is open", async () => {
  const url = await upstream();
  const { front, open } = await frontOf(async () => url);
  const socket = open();
  ends.push(() => socket.destroy());
  await once(socket, "data");
  let idle = false;
  const waiting = front.idle(60_000).then(() => (idle = true));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(idle).toBe(false);
  socket.destroy();
  await waiting;
  expect(idle).toBe(true);
});

it("outlives a client that resets its WebSocket while the server starts", async () => {
  const started = Promise.withResolvers<undefined>();
  const called = Promise.withResolvers<void>();
  const { front, open } = await frontOf(async () => {
    called.resolve();
    return started.promise;
  });
  const socket = open();
  await called.promise;
  socket.resetAndDestroy();
  await once(socket, "close");
  started.resolve(undefined);
  // An error without a listener is an unhandled error of this test.
  await expect(front.idle(60_000)).resolves.toBeUndefined();
});
