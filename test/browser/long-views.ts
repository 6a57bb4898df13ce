/** A thread of many runs and a trace of many spans, for tests of what a view costs. */
import { beforeAll } from "vitest";
import { sendLongThread, sendLongTrace } from "../support/long.ts";
import type { Stage } from "./page.ts";

/** Sends both before the tests of the file. Returns their ids, which are empty until then. */
export function sendLongViews(stage: Stage, runs: number, spans: number): { thread: string; trace: string } {
  const sent = { thread: "", trace: "" };
  beforeAll(async () => {
    const { server } = stage;
    [sent.thread, sent.trace] = await Promise.all([sendLongThread(server, runs), sendLongTrace(server, spans)]);
  }, 120_000);
  return sent;
}
