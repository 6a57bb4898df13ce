/** Sends a request and reads what comes of it: all of a plain answer, the beginning of a stream. */
import { Agent, request as httpRequest } from "node:http";
import type { FuzzRequest } from "./request.ts";

/** An answer must begin within this time. */
export const HANG_MS = 10_000;
/** A stream that is silent for this long is left. */
const IDLE_MS = 150;
const READ_MOST = 2_000_000;

export interface Answer {
  /** 0 when there was none. */
  status: number;
  retryAfter: string | undefined;
  text: string;
  /** Why there was no answer. */
  fault?: "hang" | "connection";
  milliseconds: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export async function send(url: string, request: FuzzRequest): Promise<Answer> {
  const start = performance.now();
  const answer = request.frames ? await overSocket(url, request, request.frames) : await overHttp(url, request);
  return { ...answer, milliseconds: performance.now() - start };
}

type Got = Omit<Answer, "milliseconds">;
const none = (fault: "hang" | "connection", text = ""): Got => ({ status: 0, retryAfter: undefined, text, fault });

function overHttp(url: string, { method, path, headers, body }: FuzzRequest): Promise<Got> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const call = httpRequest(
      { hostname, port, method, path, agent, headers: { ...headers, ...length } },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        const end = (fault?: "hang" | "connection") => {
          clearTimeout(hang);
          clearTimeout(idle);
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"], text, fault });
          response.destroy();
        };
        const streams = response.headers["content-type"]?.includes("event-stream") ?? false;
        let idle = streams ? setTimeout(end, IDLE_MS) : undefined;
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > READ_MOST) end();
          if (!streams) return;
          clearTimeout(idle);
          idle = setTimeout(end, IDLE_MS);
        });
        response.once("end", () => end());
        response.once("error", () => end("connection"));
      },
    );
    const hang = setTimeout(() => {
      resolve(none("hang"));
      call.destroy();
    }, HANG_MS);
    call.once("error", (error) => {
      clearTimeout(hang);
      resolve(none("connection", String(error)));
    });
    call.end(body);
  });
}

function overSocket(url: string, { path, headers }: FuzzRequest, frames: string[]): Promise<Got> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url.replace("http", "ws") + path, { headers } as never);
    const texts: string[] = [];
    let opened = false;
    let idle: NodeJS.Timeout | undefined;
    const end = (fault?: "hang") => {
      clearTimeout(hang);
      clearTimeout(idle);
      resolve(fault ? none(fault) : { status: opened ? 101 : 400, retryAfter: undefined, text: texts.join("\n") });
      socket.close();
    };
    const hang = setTimeout(end, HANG_MS, "hang");
    socket.addEventListener("open", () => {
      opened = true;
      for (const frame of frames) socket.send(frame);
      idle = setTimeout(end, 4 * IDLE_MS);
    });
    socket.addEventListener("message", ({ data }) => {
      texts.push(String(data));
      clearTimeout(idle);
      idle = setTimeout(end, IDLE_MS);
    });
    socket.addEventListener("close", () => end());
    // A refused upgrade. WebSocket does not report its status.
    socket.addEventListener("error", () => end());
  });
}
