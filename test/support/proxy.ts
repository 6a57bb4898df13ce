/** A local reverse proxy in front of a server. Passes streams and WebSockets through and rewrites `Host`. */
import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface ProxyFault {
  status: number;
  body: string;
}

export interface Proxy {
  url: string;
  /** The address of the server. Set it before the first call. */
  target: string;
  /** Can change a call or answer it. */
  meddle: (call: IncomingMessage) => ProxyFault | undefined;
  stop(): Promise<void>;
}

export async function startProxy(): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const proxy: Proxy = { url: "", target: "", meddle: () => undefined, stop };
  const server = createServer((call, answer) => {
    const fault = proxy.meddle(call);
    if (fault) return void answer.writeHead(fault.status, { "content-type": "application/json" }).end(fault.body);
    const { method, headers } = call;
    const { host } = new URL(proxy.target);
    const forwarded = { ...headers, host, "x-forwarded-for": "192.0.2.1", "x-forwarded-proto": "http" };
    const onward = request(proxy.target + call.url, { method, headers: forwarded }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers);
      answer.flushHeaders();
      answered.pipe(answer);
      // Closes the connection to the server when the client disconnects.
      answer.on("close", () => answered.destroy());
    });
    onward.on("error", () => answer.destroy());
    call.pipe(onward);
  });
  server.on("upgrade", (call, socket: Socket, head) => {
    if (proxy.meddle(call)) return void socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    const { hostname, port, host } = new URL(proxy.target);
    const onward = connect(Number(port), hostname, () => {
      const headers = Object.entries({ ...call.headers, host }).map(([name, value]) => `${name}: ${String(value)}\r\n`);
      onward.write(`GET ${call.url} HTTP/1.1\r\n${headers.join("")}\r\n`);
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    for (const one of [onward, socket]) one.on("error", () => [onward, socket].forEach((each) => each.destroy()));
    sockets.add(onward);
  });
  server.on("connection", (socket) => sockets.add(socket));
  async function stop(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}
