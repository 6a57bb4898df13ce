/** A cron as the form holds it, and the body that the API takes. */
import { timeZone } from "../../ui/intl.ts";
import { localTime } from "../../ui/time.ts";
import type { Cron } from "../../../../src/automation/crons/wire.ts";

/** Where the runs of a cron take place. */
export type ThreadChoice = "delete" | "keep" | "thread";

export interface Draft {
  assistant: string;
  schedule: string;
  timezone: string;
  /** As JSON. */
  input: string;
  threadChoice: ThreadChoice;
  /** The id of a thread, for the place `thread`. */
  thread: string;
  /** A local time as an input of that type has it, or nothing. */
  end: string;
}

const HELLO = { messages: [{ role: "user", content: "Summarize what happened since yesterday." }] };

export function newDraft(assistant: string): Draft {
  const timezone = timeZone();
  const input = JSON.stringify(HELLO, null, 2);
  return { assistant, schedule: "0 9 * * 1-5", timezone, input, threadChoice: "keep", thread: "", end: "" };
}

export function toDraft(cron: Cron): Draft {
  return {
    assistant: cron.assistant_id,
    schedule: cron.schedule,
    timezone: cron.timezone ?? "UTC",
    input: cron.payload.input === undefined ? "" : JSON.stringify(cron.payload.input, null, 2),
    threadChoice: cron.thread_id === null ? (cron.on_run_completed ?? "delete") : "thread",
    thread: cron.thread_id ?? "",
    end: cron.end_time === null ? "" : localTime(Date.parse(cron.end_time)),
  };
}

/** The body that the API takes. Throws an `Error` whose message names the wrong field. */
export function toBody({ schedule, timezone, input, threadChoice, end }: Draft): Record<string, unknown> {
  return {
    schedule: schedule.trim(),
    timezone: timezone.trim() === "" ? null : timezone.trim(),
    end_time: end === "" ? null : new Date(end).toISOString(),
    ...(threadChoice !== "thread" && { on_run_completed: threadChoice }),
    ...(input.trim() !== "" && { input: parsed(input) }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Error(`The input is no JSON: ${error instanceof Error ? error.message : ""}`, { cause: error });
  }
}
