/** The address of `weir dev`, in front of a server that is started here. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { once } from "node:events";
import { afterEach, expect, it } from "vitest";
import { Front } from "../../src/cli/dev/front.ts";
import { quietPort } from "../support/ports.ts";

const HANDSHAKE =
  "GET /threads/t/stream/events HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** A server that accepts each WebSocket. */
async function startUpstream(): Promise<string> {
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

async function startFront(
  target: () => Promise<string | undefined>,
  hosts: string[] = [],
): Promise<{ front: Front; port: number; open: () => Socket }> {
  const port = await quietPort();
  const front = new Front({ port, hosts, target, onRequest: () => undefined });
  await front.listen();
  ends.push(() => front.close());
  const open = () => {
    const socket = connect(port, "127.0.0.1", () => socket.write(HANDSHAKE));
    return socket.on("error", () => undefined);
  };
  return { front, port, open };
}

it("is not idle while a WebSocket is open", async () => {
  const url = await startUpstream();
  const { front, open } = await startFront(async () => url);
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
  const { front, open } = await startFront(async () => {
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

/** A server that answers each request as given. */
async function startServer(answer: (asked: IncomingMessage, answer: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The status and the text of a request with these headers, as a socket sends it. */
async function sendRequest(port: number, path: string, headers: Record<string, string>): Promise<[number, string]> {
  const sent = request({ host: "127.0.0.1", port, path, headers });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk as string;
  return [response.statusCode ?? 0, text];
}

it.each(["/x", "/.weir/events", "/.weir/dev.js"])("refuses a host that is not this machine, at %s", async (path) => {
  const url = await startServer((_asked, answer) => answer.end("secret"));
  const { port } = await startFront(async () => url);
  const [status, text] = await sendRequest(port, path, { host: "evil.example" });
  expect(status).toBe(421);
  expect(text).not.toContain("secret");
});

it("refuses a handshake and an absolute target of another host", async () => {
  const url = await startUpstream();
  const { port } = await startFront(async () => url);
  for (const head of [
    HANDSHAKE.replace("localhost", "evil.example"),
    "GET http://evil.example/x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
  ]) {
    const socket = connect(port, "127.0.0.1", () => socket.write(head));
    const [answer] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 421 /);
  }
});

it.each(["localhost:1", "127.0.0.1", "[::1]:8787", "tunnel.example", "TUNNEL.example:443"])(
  "answers the host %s",
  async (host) => {
    const url = await startServer((got, answer) => answer.end(got.headers.host));
    const { port } = await startFront(async () => url, ["tunnel.example"]);
    expect(await sendRequest(port, "/x", { host })).toEqual([200, host]);
  },
);

it("sends on no header by which Miniflare or Cloudflare learns what a request is, and requests no compression", async () => {
  const url = await startServer((got, answer) => answer.end(JSON.stringify(got.headers)));
  const { port } = await startFront(async () => url);
  const headers = { "MF-Original-URL": "http://127.0.0.1/x", "CF-Connecting-IP": "::1", "accept-encoding": "gzip" };
  const [, text] = await sendRequest(port, "/x", headers);
  const received = JSON.parse(text) as Record<string, string>;
  expect(received).toMatchObject({ "accept-encoding": "identity", "cf-connecting-ip": "127.0.0.1" });
  expect(
    Object.keys(received)
      .filter((name) => /^(mf|cf)-/.test(name))
      .sort(),
  ).toEqual(["cf-connecting-ip", "mf-cf-blob", "mf-disable-pretty-error"]);
  expect(JSON.parse(received["mf-cf-blob"] ?? "")).toEqual({ clientAcceptEncoding: "gzip" });
});

it("keeps its connection to the server, and reads again where that ends", async () => {
  const ports: (number | undefined)[] = [];
  const url = await startServer((got, answer) => {
    ports.push(got.socket.remotePort);
    if (ports.length === 3 || ports.length === 5) return void got.socket.destroy();
    answer.end("answered");
  });
  const { port } = await startFront(async () => url);
  for (let n = 0; n < 3; n += 1) expect(await sendRequest(port, "/x", {})).toEqual([200, "answered"]);
  expect(ports[1]).toBe(ports[0]);
  expect(ports[2]).toBe(ports[0]);
  expect(ports[3]).not.toBe(ports[0]);
  // What the server may have done is not sent twice.
  const answer = await fetch(`http://127.0.0.1:${port}/x`, { method: "POST", body: "x" });
  expect(answer.status).toBe(503);
  expect(ports).toHaveLength(5);
});

it("passes on an answer that comes before the body is read, and reads the body", async () => {
  const url = await startServer((_asked, answer) => answer.writeHead(413).end("too large"));
  const { port } = await startFront(async () => url);
  const answer = await fetch(`http://127.0.0.1:${port}/x`, { method: "POST", body: new Uint8Array(20_000_000) });
  expect([answer.status, await answer.text()]).toEqual([413, "too large"]);
});

it("continues a stream of events where a server ended, with each event once", async () => {
  const seen: unknown[] = [];
  const url = await startServer((got, answer) => {
    seen.push([got.method, got.url, got.headers["last-event-id"], got.headers["x-api-key"]]);
    answer.writeHead(200, { "content-type": "text/event-stream", location: "/runs/1/stream" });
    if (seen.length > 1) return answer.end("id: 2\ndata: b\n\nid: 3\ndata: c\n\n");
    answer.write("id: 1\ndata: a\n\nid: 2\nda");
    setTimeout(() => answer.destroy(), 50);
  });
  const { port } = await startFront(async () => url);
  const headers = { "x-api-key": "k", "content-type": "application/json" };
  const answer = await fetch(`http://127.0.0.1:${port}/runs/stream`, { method: "POST", headers, body: "{}" });
  expect(await answer.text()).toBe("id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: c\n\n");
  expect(seen).toEqual([
    ["POST", "/runs/stream", undefined, "k"],
    ["GET", "/runs/1/stream", "1", "k"],
  ]);
});
