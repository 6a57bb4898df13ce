/** Writes to the disk that a process waits for, seen by strace, where that is installed and allowed. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

export interface FsyncCounter extends AsyncDisposable {
  readonly count: number;
}

/** Counts from now on; undefined without strace. The process is slower in the meantime. */
export async function countFsyncs(pid: number): Promise<FsyncCounter | undefined> {
  if (spawnSync("strace", ["-V"]).error) return undefined;
  const tracer = spawn("strace", ["-f", "-qq", "-e", "trace=fsync,fdatasync", "-p", String(pid)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(tracer, "exit");
  let count = 0;
  let rest = "";
  tracer.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    // A call that another thread interrupts is shown in two lines, of which the second says "resumed".
    count += lines.filter((line) => /\bf(data)?sync\(/.test(line)).length;
  });
  await sleep(500);
  if (tracer.exitCode !== null) return undefined;
  return {
    get count() {
      return count;
    },
    async [Symbol.asyncDispose]() {
      tracer.kill("SIGINT");
      await ended;
    },
  };
}
