/** Streams: every reader gets a part of one log, without gaps, and one end. */
import type { Frame, Of } from "../record.ts";
import { type Facts, type Violation } from "../facts.ts";

type Read = Of<"read">;
type Numbered = Frame & { id: string };

const listNumbered = ({ frames }: Read): Numbered[] =>
  frames.filter((frame): frame is Numbered => frame.id !== undefined);

/** Ids are numbers, or numbers joined by "-". */
function compareIds(a: string, b: string): number {
  const [left, right] = [a, b].map((id) => id.split("-").map(Number)) as [number[], number[]];
  const at = left.findIndex((part, index) => part !== right[index]);
  return at < 0 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? 0);
}

const violation = (rule: string, message: string, ...operations: [Read, ...Read[]]): Violation => ({
  rule,
  thread: operations[0].thread,
  ...(operations[0].run && { run: operations[0].run }),
  message,
  operations,
});

/** The ids of one connection grow, beginning after the one that it resumed after. */
export function idsGrow(facts: Facts): Violation[] {
  return facts.listOperations("read").flatMap((read) => {
    const ids = listNumbered(read).map(({ id }) => id);
    const all = read.after === "-1" ? ids : [read.after, ...ids];
    const at = all.findIndex((id, index) => index > 0 && compareIds(all[index - 1] ?? "", id) >= 0);
    return at < 0 ? [] : [violation("ids-grow", `The id ${all[at]} follows ${all[at - 1]}.`, read)];
  });
}

/** Connections to the same log, which must agree. */
const groupReads = (facts: Facts): Read[][] => [
  ...Map.groupBy(
    facts.listOperations("read").filter(({ resumable, outcome }) => resumable && outcome === "ok"),
    ({ thread, run, modes }) => `${thread} ${run} ${modes}`,
  ).values(),
];

/** Two readers of one log get the same event under the same id. */
export function readersAgree(facts: Facts): Violation[] {
  return groupReads(facts).flatMap((reads) => {
    const seen = new Map<string, { frame: Frame; read: Read }>();
    for (const read of reads) {
      for (const frame of listNumbered(read)) {
        const other = seen.get(frame.id);
        if (other && (other.frame.event !== frame.event || other.frame.data !== frame.data)) {
          const message = `The event ${frame.id} is ${formatShort(other.frame)} for one reader, ${formatShort(frame)} for another.`;
          return [violation("readers-agree", message, other.read, read)];
        }
        seen.set(frame.id, other ?? { frame, read });
      }
    }
    return [];
  });
}

const formatShort = ({ event, data }: Frame): string => `${event} ${data.replaceAll(/\s+/g, " ").slice(0, 300)}`;

/**
 * The events of one connection are those of the log after its cursor, without a gap: up to the log's end if the server ended the
 * stream. The log has each event that any reader got.
 */
export function findMissed(facts: Facts): Violation[] {
  return groupReads(facts).flatMap((reads) => {
    const sources = new Map<string, Read>();
    for (const read of reads) for (const { id } of listNumbered(read)) if (!sources.has(id)) sources.set(id, read);
    const log = [...sources.keys()].sort(compareIds);
    for (const read of reads) {
      const ids = new Set(listNumbered(read).map(({ id }) => id));
      const last = read.ended ? log.at(-1) : listNumbered(read).at(-1)?.id;
      if (last === undefined) continue;
      const due = log.filter((id) => compareIds(id, read.after) > 0 && compareIds(id, last) <= 0);
      const missed = due.find((id) => !ids.has(id));
      const source = missed === undefined ? undefined : sources.get(missed);
      if (source)
        return [
          violation("nothing-is-missed", `A reader after ${read.after} missed the event ${missed}.`, read, source),
        ];
    }
    return [];
  });
}

/** A stream has one beginning, and nothing follows an `end` or `error`. A thread's stream has one end of each run. */
export function oneEnd(facts: Facts): Violation[] {
  return facts.listOperations("read").flatMap((read) => (read.run ? oneEndOfRun(read) : oneEndEach(read)));
}

function oneEndOfRun(read: Read): Violation[] {
  const events = read.frames.map(({ event }) => event);
  const end = events.findIndex((event) => event === "end" || event === "error");
  // A feedback URL may follow an error, and an `end` does where the server sends one.
  const after = end < 0 ? [] : events.slice(end + 1).filter((event) => event !== "end" && event !== "feedback");
  if (after.length > 0) return [violation("one-end", `${after[0]} follows the ${events[end]} of the run.`, read)];
  const beginnings = read.frames.filter(({ event, data }) => event === "metadata" && !/"attempt": *(?!1\b)/.test(data));
  return beginnings.length > 1 ? [violation("one-end", "The stream begins the run twice.", read)] : [];
}

interface Lifecycle {
  event_id?: string;
  params?: { namespace?: string[]; data?: { event?: string } };
}

/** Only events of the root name their run, in their id: `synth:<run>:lc…`. */
function oneEndEach(read: Read): Violation[] {
  const ended = new Set<string>();
  for (const { event, data } of read.frames) {
    if (event !== "lifecycle") continue;
    const { event_id, params } = JSON.parse(data) as Lifecycle;
    const run = /^synth:([\w-]+):/.exec(event_id ?? "")?.[1];
    if (run === undefined || params?.namespace?.length !== 0) continue;
    const what = params.data?.event ?? "";
    if (ended.has(run)) return [violation("one-end", `${what} of the run ${run} follows its end.`, read)];
    if (what === "completed" || what === "failed" || what === "interrupted") ended.add(run);
  }
  return [];
}

/** What a run's stream was once seen to end with remains its end: a later reader gets no further event. */
export function endsStay(facts: Facts): Violation[] {
  return groupReads(facts).flatMap((reads) => {
    const whole = reads.filter(({ ended }) => ended).sort((a, b) => a.until - b.until);
    const [first] = whole;
    const last = first && listNumbered(first).at(-1)?.id;
    if (!first || last === undefined) return [];
    const more = whole.find((read) => listNumbered(read).some(({ id }) => compareIds(id, last) > 0));
    return more
      ? [violation("ends-stay", `The stream ended after ${last}, and has more events later.`, first, more)]
      : [];
  });
}

interface Input {
  method?: string;
  params?: { data?: { interrupt_id?: string; interrupt_ids?: string[] } };
}

/** A question that the thread's stream calls answered is not requested again, unless the run of an answer did not use it. */
export function answeredIsAnswered(facts: Facts): Violation[] {
  // An answer without an id goes to any question that waits.
  const isUsed = (thread: string, id: string) =>
    facts
      .listOperations("start", thread)
      .filter(({ answer, outcome }) => outcome !== "refused" && answer && (answer.interrupt === id || !answer.strict))
      .every(({ run }) => run !== undefined && facts.runs.get(run)?.atRest === "success");
  return facts.listOperations("read").flatMap((read) => {
    const answered = new Set<string>();
    for (const { event, data } of read.run ? [] : read.frames) {
      if (!event.startsWith("input")) continue;
      const { interrupt_id = "", interrupt_ids = [] } = (JSON.parse(data) as Input).params?.data ?? {};
      for (const id of interrupt_ids) answered.add(id);
      if (answered.has(interrupt_id) && isUsed(read.thread, interrupt_id)) {
        const message = `The question ${interrupt_id} was called answered, and is requested again.`;
        return [violation("answered-is-answered", message, read)];
      }
    }
    return [];
  });
}
