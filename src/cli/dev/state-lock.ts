/**
 * One process owns a folder of state: two that serve it write the same databases, and each serves what the other has replaced.
 *
 * The folder has a file `owner.<n>`. The highest number counts. To own the folder is to create the next number, which the file
 * system gives to one process. The file of a process that has ended, or that holds no owner, is free. The highest file is never
 * deleted, so a process that decided on an old listing of the folder finds its number outdated.
 */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { CliFault } from "../console.ts";

export interface StateOwner {
  pid: number;
  /** When the process started, as the system says it: another process with this pid started at another time. */
  started?: string;
  /** Where it serves the state. */
  url: string;
}

export interface StateLock {
  /** Frees the folder. A process that ends without it leaves a file that is free. */
  release(): void;
}

/** Makes this process the owner of a folder of state. Throws a Fault that names the owner when there is one. */
export function lockState(folder: string, url: string): StateLock {
  const state = resolve(folder);
  const own = JSON.stringify({ pid: process.pid, started: readStart(process.pid), url } satisfies StateOwner);
  try {
    mkdirSync(state, { recursive: true });
    for (;;) {
      const last = Math.max(0, ...listNumbers(state));
      const owner = readOwner(state, last);
      if (owner) throw new CliFault(describeOwner(state, last, owner));
      if (!create(state, last + 1, own)) continue;
      if (listNumbers(state).some((number) => number > last + 1)) {
        rmSync(fileOf(state, last + 1), { force: true });
        continue;
      }
      for (const number of listNumbers(state)) if (number <= last) rmSync(fileOf(state, number), { force: true });
      return { release: () => release(fileOf(state, last + 1)) };
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof CliFault || code === undefined) throw error;
    throw new CliFault(
      `The folder of state ${state} cannot be written (${code}). Make it writable, or name another one with --state.`,
    );
  }
}

const fileOf = (state: string, number: number): string => join(state, `owner.${number}`);

const listNumbers = (state: string): number[] =>
  readdirSync(state).flatMap((name) => {
    const [, number] = /^owner\.(\d{1,12})$/.exec(name) ?? [];
    return number === undefined ? [] : [Number(number)];
  });

/** Creates the file with its whole text, unless it exists. */
function create(state: string, number: number, text: string): boolean {
  const part = join(state, `owner.${randomUUID()}.part`);
  writeFileSync(part, text);
  try {
    linkSync(part, fileOf(state, number));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    return createPlain(fileOf(state, number), text);
  } finally {
    rmSync(part, { force: true });
  }
}

/** The same where the file system has no hard links. For a moment the file is there without its text. */
function createPlain(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** A folder that is deleted meanwhile is not made again. */
function release(file: string): void {
  try {
    truncateSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** The process that owns the folder by this number, if it is alive. */
function readOwner(state: string, number: number): StateOwner | undefined {
  try {
    const owner = JSON.parse(readFileSync(fileOf(state, number), "utf8")) as StateOwner;
    return isAlive(owner) ? owner : undefined;
  } catch {
    return undefined; // No file has this number, or its text is no owner.
  }
}

function isAlive({ pid, started }: StateOwner): boolean {
  if (!Number.isSafeInteger(pid) || pid < 1) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process is another user's.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const now = readStart(pid);
  return started === undefined || now === undefined || now === started;
}

/** When a process started, in a form that only serves to compare; undefined where the system does not say, as on Windows. */
function readStart(pid: number): string | undefined {
  try {
    if (process.platform === "linux") return readStartOnLinux(pid);
    if (process.platform === "win32") return undefined;
    const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
    const args = ["-o", "lstart=", "-p", String(pid)];
    return execFileSync("ps", args, { env, encoding: "utf8", stdio: "pipe" }).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Ticks since the machine started, with the id of that start. */
function readStartOnLinux(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The command, in parentheses, may contain any character. The state follows it, and the start is 19 fields after the state.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // Nobody has waited for a process that is a zombie, and it does nothing any more.
  if (fields[0] === "Z") return "ended";
  return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${fields[19]}`;
}

function describeOwner(state: string, number: number, { pid, started, url }: StateOwner): string {
  const unsure = started === undefined ? ` If process ${pid} is another program, delete ${fileOf(state, number)}.` : "";
  return `${state} is in use: process ${pid} serves it on ${url}. Stop that process, or use another folder: --state <folder>.${unsure}`;
}
