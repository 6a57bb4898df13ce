/** The values of the facets of the list of traces, with their counts under the other facets, beside a plain count. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Chosen, withoutFacet, writeConditions } from "../../../packages/web/traces/runs/facets.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { seeded } from "../../support/random.ts";
import { pick } from "../../support/random-trace-runs.ts";
import { NOON, projectId, runParts, sendMultipart, type Sent, sentRun } from "../../support/traces.ts";

const DAY_MICROS = 86_400_000_000;
const WINDOW = { start_time: "2026-11-20T00:00:00Z", end_time: "2026-11-22T00:00:00Z" };
const BY = { name: "name", model: "trace_model", tag: "tag", user: "user", feedback: "feedback" } as const;
type Counted = keyof typeof BY;

interface Plain {
  status: string;
  name: string;
  tags: string[];
  user: string | undefined;
  models: Set<string>;
  isRoot: boolean;
  latency: number;
  feedback: { key: string; score?: number; value?: string }[];
}

const random = seeded("facets");
const plain: Plain[] = [];
let caller: Caller;
let session: string;

function makeTrace(n: number): Sent[] {
  const start = NOON + (n % 2) * DAY_MICROS + n * 1_000;
  const models = new Set<string>();
  const add = (parent?: Sent, model?: string): Sent => {
    const run: Plain = {
      status: pick(random, ["success", "error"]),
      name: pick(random, ["agent", "other"]),
      tags: ["blue", "new"].filter(() => random.next() < 0.5),
      user: pick(random, ["u1", "u2", undefined]),
      models,
      isRoot: parent === undefined,
      latency: pick(random, [0.5, 2, 8]),
      feedback: [],
    };
    if (model) models.add(model);
    plain.push(run);
    const metadata = { ...(run.user && { user_id: run.user }), ...(model && { ls_model_name: model }) };
    const { name, tags } = run;
    const end_time = (start + run.latency * 1e6) / 1000;
    const error = run.status === "error" ? { error: "broken" } : {};
    const sent = sentRun(start, { name, tags, end_time, extra: { metadata }, ...error }, parent);
    if (random.next() < 0.6) {
      const score = () => pick(random, [0, 0.25, 0.5, 1]);
      run.feedback.push({ key: "correct", score: score() }, { key: "mood", value: "good" });
      if (random.next() < 0.5) run.feedback.push({ key: "correct", score: score() });
    }
    given.push(...run.feedback.map((feedback) => ({ run_id: sent.id, ...feedback })));
    return sent;
  };
  const root = add();
  return [
    root,
    ...Array.from({ length: random.between(0, 4) }, () => add(root, pick(random, ["m1", "m2", undefined]))),
  ];
}

const given: object[] = [];

/** The values of a run of each facet. */
const VALUES: Record<Counted, (run: Plain) => string[]> = {
  name: ({ name }) => [name],
  model: ({ models }) => [...models],
  tag: ({ tags }) => tags,
  user: ({ user }) => (user ? [user] : []),
  feedback: ({ feedback }) => [
    ...new Set(
      feedback.flatMap(({ key, score }) =>
        score === undefined ? [key] : [key, `${key}${score >= 0.5 ? ">=" : "<"}0.5`],
      ),
    ),
  ],
};

function passes(run: Plain, { status, latency, ...others }: Chosen): boolean {
  if (status !== undefined && run.status !== status) return false;
  if (latency !== undefined && run.latency <= Number.parseInt(latency, 10)) return false;
  return Object.entries(others).every(
    ([facet, value]) => value === undefined || VALUES[facet as Counted](run).includes(value),
  );
}

beforeAll(async () => {
  caller = await newCaller();
  const runs = Array.from({ length: 60 }, (_, n) => makeTrace(n)).flat();
  await sendMultipart(
    caller,
    runs.flatMap((run) => runParts("post", run)),
  );
  session = await projectId(caller);
  for (const feedback of given) await caller.fetch("/feedback", { body: feedback });
});

const CHOSEN: Chosen[] = [
  {},
  { status: "error" },
  { latency: "1s" },
  { name: "agent", user: "u1" },
  { tag: "blue", model: "m1" },
  { feedback: "correct>=0.5" },
  { user: "u2", model: "m2", feedback: "mood" },
];

describe("the facets of the list", () => {
  it.each(CHOSEN.map((chosen) => [JSON.stringify(chosen), chosen] as const))(
    "are counted under %s",
    async (_, chosen) => {
      for (const is_root of [true, undefined])
        for (const facet of Object.keys(BY) as Counted[]) {
          const others = withoutFacet(chosen, facet);
          const body = { session: [session], ...WINDOW, is_root, interval: "day", max_groups: 100 };
          const answer = await caller.fetch("/runs/stats/series", {
            body: { ...body, ...writeConditions(others, ""), by: BY[facet] },
          });
          const { groups } = await answer.json<{ groups: { key: string; run_count: number }[] }>();
          const expected = new Map<string, number>();
          for (const run of plain.filter((one) => (is_root ? one.isRoot : true) && passes(one, others)))
            for (const value of VALUES[facet](run)) expected.set(value, (expected.get(value) ?? 0) + 1);
          const found = Object.fromEntries(groups.map(({ key, run_count }) => [key, run_count]));
          expect({ facet, is_root, found }).toEqual({ facet, is_root, found: Object.fromEntries(expected) });
        }
    },
  );
});
