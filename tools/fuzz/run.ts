/** Sends the requests of a seed, several at a time, and gathers what is wrong. */
import { workerdMegabytes } from "./memory.ts";
import { generateRequest } from "./generate.ts";
import { type Described, fetchOperations } from "./operations.ts";
import { type FuzzRequest, formatRequest } from "./request.ts";
import { send } from "./send.ts";
import { findFault } from "./verdict.ts";
import type { World } from "./world.ts";

const AT_ONCE = 12;
/** Megabytes that workerd may use, unless its memory has levelled off. Miniflare runs all isolates in one process. */
const MEMORY_MOST = 1_500;
/** Memory that grows by less than this in the last third of the requests has levelled off. */
const LEVEL = 1.1;
/** No more faults than these are gathered: they are mostly of one kind. */
const FAULTS_MOST = 200;

export interface Fault {
  index: number;
  what: string;
  request: FuzzRequest;
}

export interface Report {
  seed: number;
  requests: number;
  seconds: number;
  /** Answers by kind of request and status. */
  statuses: Record<string, Record<string, number>>;
  unavailable: number;
  slowest: { milliseconds: number; index: number; path: string };
  /** Megabytes of workerd: at the beginning, the most, at the end. */
  memory: [number, number, number];
  /** The most of the first two thirds of the requests. */
  memoryBefore: number;
  faults: Fault[];
}

interface Options {
  seed: number;
  requests: number;
  /** The number of the first request: one that failed is sent again alone. */
  first?: number;
  /** The process above workerd, if it is ours. */
  pid?: number;
  progress?: (line: string) => void;
}

export async function fuzz(
  url: string,
  world: World,
  { seed, requests, first = 0, pid, progress }: Options,
): Promise<Report> {
  const operations: Described[] = await fetchOperations(url);
  const memory = () => (pid === undefined ? 0 : workerdMegabytes(pid));
  const before = memory();
  const report: Report = {
    seed,
    requests,
    seconds: 0,
    statuses: {},
    unavailable: 0,
    slowest: { milliseconds: 0, index: 0, path: "" },
    memory: [before, before, before],
    memoryBefore: before,
    faults: [],
  };
  const start = performance.now();
  let next = first;
  const sendRequests = async () => {
    while (next < first + requests && report.faults.length < FAULTS_MOST) {
      const index = next++;
      const request = generateRequest(seed, index, world.actors, operations);
      let answer = await send(url, request);
      // A run that waits for a rule of flow control or a budget that an earlier request has made waits rightly.
      if (answer.fault === "hang") {
        await world.release();
        answer = await send(url, request);
      }
      count(report, request, answer.status);
      if (answer.status === 503) report.unavailable += 1;
      if (answer.milliseconds > report.slowest.milliseconds) {
        report.slowest = {
          milliseconds: answer.milliseconds,
          index,
          path: `${request.method} ${request.path.slice(0, 100)}`,
        };
      }
      const what = findFault(answer, world.secrets, request);
      if (what) {
        report.faults.push({ index, what, request });
        progress?.(
          `request ${index} of seed ${seed} (${request.kind}, ${request.actor}): ${what}\n  ${formatRequest(request, url).slice(0, 3_000)}`,
        );
      }
      if (index % 500 === 0) {
        report.memory[1] = Math.max(report.memory[1], memory());
        if (index - first < (requests * 2) / 3) report.memoryBefore = report.memory[1];
      }
      if (index % 5_000 === 0 && index > first)
        progress?.(
          `${index} requests, ${Math.round(index / ((performance.now() - start) / 1000))} a second, workerd ${memory()} MB`,
        );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendRequests));
  report.seconds = Math.round((performance.now() - start) / 1000);
  report.memory[2] = memory();
  report.memory[1] = Math.max(report.memory[1], report.memory[2]);
  return report;
}

/** Whether workerd uses more memory than it may, and more with each request. */
export const leaks = ({ memory, memoryBefore }: Report): boolean =>
  memory[1] > MEMORY_MOST && memory[1] > LEVEL * memoryBefore;

function count({ statuses }: Report, { kind }: FuzzRequest, status: number): void {
  const own = (statuses[kind] ??= {});
  own[status] = (own[status] ?? 0) + 1;
}
