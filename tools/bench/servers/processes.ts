/** What the processes of a server use, as Linux accounts for it in /proc. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Clock ticks a second in /proc. */
const TICKS = 100;

export interface Process {
  pid: number;
  parent: number;
  command: string;
  /** Processor time so far, that of its ended children included; seconds. */
  cpu: number;
  /** Resident memory now, and the most that was resident; bytes. */
  resident: number;
  peak: number;
}

/** The process and all below it. */
export function processTree(root: number): Process[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? []);
  const listDescendants = (pid: number): Process[] =>
    all.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...listDescendants(child.pid)]);
  return [...all.filter(({ pid }) => pid === root), ...listDescendants(root)];
}

function readProcess(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command is in parentheses and may contain any character. Field 1 after it is the parent, 11 to 14 are the
    // times.
    const fields = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return {
      pid,
      parent: fields[1] ?? 0,
      command: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")),
      cpu: fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) / TICKS,
      resident: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024,
      peak: Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024,
    };
  } catch {
    // The process has ended in the meantime.
    return undefined;
  }
}

/** What a process does for a server: workerd runs the Worker, the proxy is wrangler's, before it; all others are Node. */
export const ROLES = ["workerd", "proxy", "node"] as const;
export type Role = (typeof ROLES)[number];

/** Processor seconds so far of a server's processes. Of two workerd, that with files below `persistTo` runs the Worker. */
export function cpuByRole(root: number, persistTo?: string): Record<Role, number> {
  const used: Record<Role, number> = { workerd: 0, proxy: 0, node: 0 };
  for (const process of processTree(root)) used[findRole(process, persistTo)] += process.cpu;
  return used;
}

/** Roles by pid: which files a process holds is looked up once. */
const roles = new Map<number, Role>();

function findRole({ pid, command }: Process, persistTo: string | undefined): Role {
  const known = roles.get(pid);
  if (known) return known;
  const role = command !== "workerd" ? "node" : holds(pid, persistTo) ? "workerd" : "proxy";
  roles.set(pid, role);
  return role;
}

function holds(pid: number, folder: string | undefined): boolean {
  if (!folder) return true;
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith(folder);
    } catch {
      // The file has been closed in the meantime.
      return false;
    }
  });
}

/** Processor seconds so far of the workerd processes of a server, and the most memory of one, bytes. */
export function workerdUsage(root: number): { cpu: number; rss: number } {
  const workerds = processTree(root).filter(({ command }) => command === "workerd");
  return {
    cpu: workerds.reduce((sum, { cpu }) => sum + cpu, 0),
    rss: Math.max(0, ...workerds.map(({ peak }) => peak)),
  };
}
