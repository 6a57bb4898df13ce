/** What a server started here uses: processor time of its workerd, and the memory of its isolate. */
import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks a second in /proc. */
const TICKS = 100;

/** Seconds of processor time that the workerd processes below this one have used so far, and the most memory of one, bytes. */
export function workerdUsage(): { cpu: number; rss: number } {
  const used = { cpu: 0, rss: 0 };
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("workerd")) continue;
      if (!ancestors(pid).includes(String(process.pid))) continue;
      const [, user = "0", system = "0"] =
        /^\d+ \(.*\) \S(?: -?\d+){10} (\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
      used.cpu += (Number(user) + Number(system)) / TICKS;
      const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0;
      used.rss = Math.max(used.rss, Number(peak) * 1024);
    } catch {
      // The process has ended in the meantime.
    }
  }
  return used;
}

function ancestors(pid: string): string[] {
  const parent = /PPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0";
  return parent === "0" || parent === "1" ? [] : [parent, ...ancestors(parent)];
}

interface HeapUsage {
  usedSize: number;
  backingStorageSize?: number;
}

/** The isolate of the Worker and its Durable Objects, through the inspector of `wrangler dev`. */
export class Isolate {
  private readonly answers = new Map<number, (result: unknown) => void>();

  private readonly socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
      if (id !== undefined) this.answers.get(id)?.(result);
    });
  }

  static async at(port: number): Promise<Isolate> {
    const listed = await fetch(`http://127.0.0.1:${port}/json`);
    const [target] = await listed.json<{ webSocketDebuggerUrl: string }[]>();
    // Wrangler answers browsers that show its own developer tools only.
    const headers = { origin: "https://devtools.devprod.cloudflare.dev", "user-agent": "Mozilla/5.0" };
    const Socket = WebSocket as unknown as new (url: string, options: { headers: object }) => WebSocket;
    const socket = new Socket(target?.webSocketDebuggerUrl ?? "", { headers });
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve());
      socket.addEventListener("error", () => reject(new Error("the inspector refuses")));
    });
    return new Isolate(socket);
  }

  /** The most that heap, buffers and both together held, garbage included, at any look while the work went on; bytes. */
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

  close(): void {
    this.socket.close();
  }

  private call(method: string): Promise<unknown> {
    const id = this.answers.size + 1;
    return new Promise((resolve) => {
      this.answers.set(id, resolve);
      this.socket.send(JSON.stringify({ id, method }));
    });
  }
}
