/** The reducer of a thread, by sequences of what arrives. A message is its id; `h` a person's, everything else an agent's. */
import { describe, expect, it } from "vitest";
import type { RawMessage } from "../../packages/web/api/types.ts";
import {
  begin,
  listInterrupts,
  isRunning,
  isUnfinished,
  listMessages,
  type News,
  reduce,
  type Thread,
} from "../../packages/web/chat/session/reducer.ts";

const message = (id: string): RawMessage => ({
  id,
  type: id.startsWith("h") ? "human" : "ai",
  content: `text of ${id}`,
});
const list = (text: string) => text.split(" ").filter(Boolean).map(message);

const live = (text: string, loading: boolean): News => ({ type: "live", messages: list(text), loading });
const runs = (open: boolean): News => ({ type: "runs", open });
const submit = (base?: string): News => ({ type: "submit", base: base === undefined ? undefined : list(base) });
const stop: News = { type: "stop" };
/** A state that was requested now, or `ago` phases earlier. */
const read =
  (text: string, { waits = "", ago = 0, finished = false } = {}) =>
  (thread: Thread): News => ({
    type: "read",
    phase: thread.phase - ago,
    state: {
      messages: list(text),
      interrupts: waits === "" ? [] : [{ id: waits, value: "?" }],
      finished,
    },
  });

/** What is in view: running, the messages (a stopped one in brackets), and what waits. */
function describeThread(thread: Thread): string {
  const shown = listMessages(thread)?.map((one) => (one.stopped ? `[${one.id}]` : one.id)) ?? ["loading"];
  const waits = listInterrupts(thread).map(({ id }) => `?${id}`);
  return [...(isRunning(thread) ? [">"] : []), ...shown, ...waits].join(" ");
}

type Step = [what: News | ((thread: Thread) => News), view: string];

const TABLE: Record<string, Step[]> = {
  "opens a settled thread, and never shows a run": [
    [runs(false), "loading"],
    [live("", false), "loading"],
    [read("h1 a1"), "h1 a1"],
    [live("h1 a1", false), "h1 a1"],
  ],
  "opens a stopped thread whose newest run the stream replays": [
    [runs(false), "loading"],
    [read("h1"), "h1"],
    [live("h1", true), "h1"],
    [live("h1 a1", true), "h1"],
    [runs(false), "h1"],
    [read("h1"), "h1"],
    [live("h1 a1", false), "h1"],
  ],
  "sends a first message": [
    [submit(), "> loading"],
    [live("h1", true), "> h1"],
    [live("h1 a1", true), "> h1 a1"],
    [live("h1 a1", false), "h1 a1"],
    [runs(false), "h1 a1"],
    [read("h1 a1"), "h1 a1"],
  ],
  "is reloaded in the middle of a run": [
    [runs(true), "> loading"],
    [read("h1"), "> h1"],
    [live("h1", true), "> h1"],
    [live("h1 a1", true), "> h1 a1"],
    [live("h1 a1", false), "h1 a1"],
    [read("h1 a1"), "h1 a1"],
  ],
  "does not go back to a state that was requested before the run ended": [
    [read("h1 a1"), "h1 a1"],
    [submit(), "> h1 a1"],
    [live("h1 a1 h2 a2", true), "> h1 a1 h2 a2"],
    [live("h1 a1 h2 a2", false), "h1 a1 h2 a2"],
    [read("h1 a1 h2", { ago: 1 }), "h1 a1 h2 a2"],
    [read("h1 a1 h2 a2"), "h1 a1 h2 a2"],
  ],
  "edits a message: the path from there goes out of view at once": [
    [read("h1 a1 h2 a2"), "h1 a1 h2 a2"],
    [live("h1 a1 h2 a2", false), "h1 a1 h2 a2"],
    [submit("h1 a1"), "> h1 a1"],
    [live("h1 a1 h2 a2 h3", true), "> h1 a1 h3"],
    [live("h1 a1 h2 a2 h3 a3", true), "> h1 a1 h3 a3"],
    [live("h1 a1 h2 a2 h3 a3", false), "h1 a1 h3 a3"],
    [read("h1 a1 h3 a3"), "h1 a1 h3 a3"],
    [live("h1 a1 h3 a3 h2 a2", false), "h1 a1 h3 a3"],
  ],
  "a second tab opens a branched thread in the middle of a run": [
    [runs(true), "> loading"],
    [live("", true), "> loading"],
    [read("h1 a1 h3"), "> h1 a1 h3"],
    [live("h1 a1 h3 a3", true), "> h1 a1 h3 a3"],
    [live("h1 a1 h3 a3", false), "h1 a1 h3 a3"],
    [read("h1 a1 h3 a3"), "h1 a1 h3 a3"],
  ],
  "another tab edits a message while this one shows the thread": [
    [read("h1 a1 h2 a2"), "h1 a1 h2 a2"],
    [live("h1 a1 h2 a2", false), "h1 a1 h2 a2"],
    [live("h1 a1 h2 a2 h3", true), "h1 a1 h2 a2"],
    [runs(true), "> h1 a1 h2 a2 h3"],
    [read("h1 a1 h3"), "> h1 a1 h3"],
    [live("h1 a1 h2 a2 h3 a3", true), "> h1 a1 h3 a3"],
    [live("h1 a1 h2 a2 h3 a3", false), "h1 a1 h3 a3"],
    [read("h1 a1 h3 a3"), "h1 a1 h3 a3"],
  ],
  "opens another branch, and returns": [
    [read("h1 a3"), "h1 a3"],
    [{ type: "at", checkpoint: "c" }, "loading"],
    [{ type: "tip", checkpoint: "c", messages: list("h1 a1") }, "h1 a1"],
    [live("h1 a3", false), "h1 a1"],
    [{ type: "at", checkpoint: undefined }, "h1 a3"],
  ],
  "stops: what was written stays, marked, after the next answer too": [
    [read(""), ""],
    [submit(), ">"],
    [live("h1", true), "> h1"],
    [live("h1 a1", true), "> h1 a1"],
    [stop, "> h1 a1"],
    [live("h1 a1", false), "h1 a1"],
    [read("h1"), "h1 [a1]"],
    [submit(), "> h1 [a1]"],
    [live("h1 a1 h2 a2", true), "> h1 [a1] h2 a2"],
    [live("h1 a1 h2 a2", false), "h1 [a1] h2 a2"],
    [read("h1 h2 a2"), "h1 [a1] h2 a2"],
  ],
  "marks a text of a run that was stopped as it completed, and none of the run after it": [
    [submit(), "> loading"],
    [live("h1 a1 b1", true), "> h1 a1 b1"],
    [stop, "> h1 a1 b1"],
    [live("h1 a1 b1", false), "h1 a1 b1"],
    [read("h1 a1", { finished: true }), "h1 a1 [b1]"],
    [submit(), "> h1 a1 [b1]"],
    [live("h1 a1 b1 h2 a2 b2", true), "> h1 a1 [b1] h2 a2 b2"],
    [live("h1 a1 b1 h2 a2 b2", false), "h1 a1 [b1] h2 a2 b2"],
    [read("h1 a1 h2 a2", { finished: true }), "h1 a1 [b1] h2 a2"],
  ],
  "does not mark a text that the state has under another id": [
    [submit(), "> loading"],
    [live("h1 a1", true), "> h1 a1"],
    [live("h1 a1", false), "h1 a1"],
    [
      (thread) => ({
        type: "read",
        phase: thread.phase,
        state: {
          messages: [message("h1"), { ...message("b1"), content: "text of a1, and more" }],
          interrupts: [],
          finished: false,
        },
      }),
      "h1 b1",
    ],
  ],
  "drops the text of an attempt that a restart of the server ended, in each position of the stream": [
    [submit(), "> loading"],
    [live("h1 a1", true), "> h1 a1"],
    [live("h1 a1 b1", true), "> h1 a1 b1"],
    [live("h1 b1 a1", false), "h1 b1 a1"],
    [read("h1 b1", { finished: true }), "h1 b1"],
  ],
  "asks a person, and the question is removed with the answer": [
    [submit(), "> loading"],
    [live("h1 a1", true), "> h1 a1"],
    [live("h1 a1", false), "h1 a1"],
    [read("h1 a1", { waits: "q" }), "h1 a1 ?q"],
    [{ type: "answer", ids: ["q"], said: [] }, "h1 a1"],
    [submit(), "> h1 a1"],
    [live("h1 a1 a2", true), "> h1 a1 a2"],
    [live("h1 a1 a2", false), "h1 a1 a2"],
    [read("h1 a1 a2"), "h1 a1 a2"],
  ],
  "puts the question back when the answer did not arrive": [
    [read("h1 a1", { waits: "q" }), "h1 a1 ?q"],
    [{ type: "answer", ids: ["q"], said: [] }, "h1 a1"],
    [submit(), "> h1 a1"],
    [{ type: "unanswered", ids: ["q"] }, "> h1 a1"],
    [{ type: "refused" }, "h1 a1 ?q"],
  ],
  "keeps a question that could not be sent": [
    [read("h1 a1"), "h1 a1"],
    [submit(), "> h1 a1"],
    [live("h1 a1 h2", true), "> h1 a1 h2"],
    [live("h1 a1 h2", false), "h1 a1 h2"],
    [{ type: "refused" }, "h1 a1 h2"],
    [read("h1 a1"), "h1 a1 h2"],
  ],
  "sends a question again that could not be sent": [
    [read("h1 a1"), "h1 a1"],
    [submit(), "> h1 a1"],
    [live("h1 a1 h2", true), "> h1 a1 h2"],
    [live("h1 a1 h2", false), "h1 a1 h2"],
    [{ type: "refused" }, "h1 a1 h2"],
    [{ type: "submit", again: "h2" }, "> h1 a1 h2"],
    [live("h1 a1 h2 a2", true), "> h1 a1 h2 a2"],
  ],
  "takes a question out of view whose start had no answer, until the state has it or it is sent again": [
    [read("h1 a1"), "h1 a1"],
    [submit(), "> h1 a1"],
    [live("h1 a1 h2", true), "> h1 a1 h2"],
    [{ type: "unanswered-start" }, "h1 a1"],
    [live("h1 a1 h2", false), "h1 a1"],
    [read("h1 a1"), "h1 a1"],
    [{ type: "submit", again: "h2" }, "> h1 a1 h2"],
    [live("h1 a1 h2 a2", true), "> h1 a1 h2 a2"],
    [{ type: "unanswered-start" }, "h1 a1"],
    [read("h1 a1 h2 a2"), "h1 a1 h2 a2"],
  ],
  "does not show messages of another branch that the stream brings, not during a run from elsewhere either": [
    [read("h1 a1"), "h1 a1"],
    [live("h1 a1 h2 a2", false), "h1 a1"],
    [live("h1 a1 h2 a2 h3", true), "h1 a1"],
    [runs(true), "> h1 a1 h3"],
    [read("h1 a1 h3"), "> h1 a1 h3"],
    [live("h1 a1 h2 a2 h3 a3", true), "> h1 a1 h3 a3"],
    [live("h1 a1 h3 a3 h2 a2", false), "h1 a1 h3 a3"],
    [live("h1 a1 h3 a3 h2 a2 h4", true), "> h1 a1 h3 a3 h4"],
    [live("h1 a1 h3 a3 h2 a2 h4 a4", false), "h1 a1 h3 a3 h4 a4"],
    [read("h1 h4 a4"), "h1 h4 a4"],
  ],
  "loses the connection for a while: the run continues, and nothing comes twice": [
    [read("h1 a1"), "h1 a1"],
    [submit(), "> h1 a1"],
    [live("h1 a1 h2 a2", true), "> h1 a1 h2 a2"],
    [live("h1 a1 h2", true), "> h1 a1 h2"],
    [live("h1 a1 h2 a2", true), "> h1 a1 h2 a2"],
    [live("h1 a1 h2 a2", false), "h1 a1 h2 a2"],
    [read("h1 a1 h2 a2"), "h1 a1 h2 a2"],
  ],
  "the run ends while the connection is lost": [
    [runs(true), "> loading"],
    [live("h1 a1", true), "> h1 a1"],
    [runs(false), "h1 a1"],
    [read("h1 a1"), "h1 a1"],
    [live("h1 a1", false), "h1 a1"],
  ],
  "sends before the state after the last answer is read": [
    [read("h1 a1"), "h1 a1"],
    [submit(), "> h1 a1"],
    [live("h1 a1 h2 a2", true), "> h1 a1 h2 a2"],
    [live("h1 a1 h2 a2", false), "h1 a1 h2 a2"],
    [submit(), "> h1 a1 h2 a2"],
    [live("h1 a1 h2 a2 h3 a3", true), "> h1 a1 h2 a2 h3 a3"],
    [live("h1 a1 h2 a2 h3 a3", false), "h1 a1 h2 a2 h3 a3"],
    [read("h1 a1 h2 a2 h3 a3"), "h1 a1 h2 a2 h3 a3"],
  ],
  "sends before the state after an edit is read: the path left stays out of view": [
    [read("h1 a1 h2 a2"), "h1 a1 h2 a2"],
    [live("h1 a1 h2 a2", false), "h1 a1 h2 a2"],
    [submit("h1 a1"), "> h1 a1"],
    [live("h1 a1 h2 a2 h3 a3", true), "> h1 a1 h3 a3"],
    [live("h1 a1 h2 a2 h3 a3", false), "h1 a1 h3 a3"],
    [submit(), "> h1 a1 h3 a3"],
    [live("h1 a1 h2 a2 h3 a3 h4", true), "> h1 a1 h3 a3 h4"],
  ],
  "a queued message follows at once": [
    [read("h1 a1"), "h1 a1"],
    [submit(), "> h1 a1"],
    [live("h1 a1 h2 a2", true), "> h1 a1 h2 a2"],
    [submit(), "> h1 a1 h2 a2"],
    [live("h1 a1 h2 a2", false), "h1 a1 h2 a2"],
    [live("h1 a1 h2 a2 h3", true), "> h1 a1 h2 a2 h3"],
    [live("h1 a1 h2 a2 h3 a3", false), "h1 a1 h2 a2 h3 a3"],
    [read("h1 a1 h2 a2 h3 a3"), "h1 a1 h2 a2 h3 a3"],
  ],
};

describe("a thread", () => {
  it.each(Object.entries(TABLE))("%s", (_, steps) => {
    let thread = begin();
    const views = steps.map(([what]) => {
      thread = reduce(thread, typeof what === "function" ? what(thread) : what);
      return describeThread(thread);
    });
    expect(views).toEqual(steps.map(([, view]) => view));
  });

  it("is unfinished where nodes are due and nobody is asked", () => {
    const isUnfinishedAfter = (options: Parameters<typeof read>[1]) =>
      isUnfinished(reduce(begin(), read("h1", options)(begin())));
    expect(isUnfinished(begin())).toBe(false);
    expect(isUnfinishedAfter({ finished: true })).toBe(false);
    expect(isUnfinishedAfter({ waits: "q" })).toBe(false);
    expect(isUnfinishedAfter({})).toBe(true);
  });
});
