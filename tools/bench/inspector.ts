/** The memory of a server's isolate, as V8 reports it. */
import type { Weir } from "./servers/server.ts";

interface HeapUsage {
  usedSize: number;
  backingStorageSize?: number;
}

/** The isolate of the Worker and its Durable Objects, through the inspector of a server. */
export class Isolate {
  private readonly calls = new Map<number, PromiseWithResolvers<unknown>>();

  private readonly socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
      if (id !== undefined) this.calls.get(id)?.resolve(result);
    });
    socket.addEventListener("close", () => {
      for (const { reject } of this.calls.values()) reject(new Error("The inspector has ended."));
    });
  }

  static async at({ inspectorPort }: Weir): Promise<Isolate> {
    const listed = await fetch(`http://127.0.0.1:${inspectorPort}/json`);
    const [target] = await listed.json<{ webSocketDebuggerUrl: string }[]>();
    // Miniflare answers browsers that show its own developer tools only.
    const headers = { origin: "https://devtools.devprod.cloudflare.dev", "user-agent": "Mozilla/5.0" };
    const Socket = WebSocket as unknown as new (url: string, options: { headers: object }) => WebSocket;
    const socket = new Socket(target?.webSocketDebuggerUrl ?? "", { headers });
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve());
      socket.addEventListener("error", () => reject(new Error("the inspector refuses")));
    });
    return new Isolate(socket);
  }

  /** The most that heap, buffers and both together held, garbage included, at any sample during the work; bytes. */
  async watch<T>(work: Promise<T>): Promise<[T, { heap: number; buffers: number; both: number }]> {
    const most = { heap: 0, buffers: 0, both: 0 };
    const watching = { over: false };
    const result = work.finally(() => (watching.over = true));
    while (!watching.over) {
      const { usedSize, backingStorageSize = 0 } = (await this.call("Runtime.getHeapUsage")) as HeapUsage;
      most.heap = Math.max(most.heap, usedSize);
      most.buffers = Math.max(most.buffers, backingStorageSize);
      most.both = Math.max(most.both, usedSize + backingStorageSize);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return [await result, most];
  }

  /**
   * What heap and buffers hold once garbage has been collected; bytes. The collection waits until the isolate has work:
   * `touch` makes a request.
   */
  async live(touch: () => Promise<unknown>): Promise<number> {
    const collecting = { over: false };
    const collected = this.call("HeapProfiler.collectGarbage").finally(() => (collecting.over = true));
    while (!collecting.over) {
      await touch();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await collected;
    const { usedSize, backingStorageSize = 0 } = (await this.call("Runtime.getHeapUsage")) as HeapUsage;
    return usedSize + backingStorageSize;
  }

  [Symbol.dispose](): void {
    this.socket.close();
  }

  private call(method: string): Promise<unknown> {
    const id = this.calls.size + 1;
    const called = Promise.withResolvers<unknown>();
    this.calls.set(id, called);
    this.socket.send(JSON.stringify({ id, method }));
    return called.promise;
  }
}
