/** Ports for servers that tests and benches start. A server that can listen on port 0 needs none of them. */
import { createSocket } from "node:dgram";
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * A free port that stays free until a server listens on it, and while that is killed and started again. It is below the ports
 * that the system gives to outgoing connections (from 32768 on Linux). Until this process ends, no other one gets it here.
 */
export async function quietPort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const port = randomInt(20_000, 32_000);
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
  throw new Error("No free port below 32000.");
}

/** The port of UDP says that the port of TCP is reserved: the system gives it to one process, and frees it with the process. */
async function reserve(port: number): Promise<boolean> {
  const socket = createSocket("udp4").unref();
  return new Promise((resolve) => {
    socket.once("error", () => resolve(false));
    socket.bind({ port, address: "127.0.0.1", exclusive: true }, () => resolve(true));
  });
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
