/** The shape of a rule of flow control, in langgraph.json and in the API (docs/flow-control.md). */
import * as v from "valibot";

/** The most that a rule allows at once or a minute. */
const MAX_ALLOWED = { runs: 10_000, tokens: 1_000_000_000 };
const count = (most: number) => v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(most)));
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(200));

/** What of a run a rule counts apart. `metadata.<name>`: a member of the run's metadata. */
export const Key = v.pipe(
  v.string(),
  v.regex(
    /^(?:workspace|assistant|user|model|metadata\.[^.]{1,100})$/,
    "expected workspace, assistant, user, model or metadata.<name>",
  ),
);

export const Match = v.strictObject({
  /** The id of an assistant or of a graph. */
  assistant: v.optional(name),
  thread: v.optional(name),
  /** The identity that the deployment's own `Auth` gives. */
  user: v.optional(name),
  model: v.optional(name),
  /** Each member must equal that of the run's metadata. */
  metadata: v.optional(v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.null()]))),
});

export const RuleId = v.pipe(
  v.string(),
  v.regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "expected up to 64 of a-z, 0-9, - and _"),
);

const effects = {
  /** No run begins. */
  paused: v.optional(v.literal(true)),
  /** Runs that are in progress at once, of each key. */
  concurrency: count(MAX_ALLOWED.runs),
  /** Runs that begin within any 60 seconds, of each key. */
  starts_per_minute: count(MAX_ALLOWED.runs),
  /** Tokens of runs that ended within the last 60 seconds, of each key. A run begins while there are fewer. */
  tokens_per_minute: count(MAX_ALLOWED.tokens),
  /**
   * One open run of each key: a new one is stopped while another is open (`first`), or stops the others and begins when they
   * have ended (`last`).
   */
  singleton: v.optional(v.picklist(["first", "last"])),
  /** A run waits for this time, and is stopped when another one of its key comes in it. */
  debounce_seconds: count(3_600),
  /** 9 is first. Of several rules with one, the first decides. */
  priority: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(9))),
};

const members = {
  match: v.optional(Match),
  key: v.optional(Key, "workspace"),
  ...effects,
  /** Keys that take turns where they share this rule's slots. */
  fair_by: v.optional(Key),
};

type Effect = keyof typeof effects;
const EFFECTS = Object.keys(effects) as Effect[];
const hasEffect = (rule: Partial<Record<Effect, unknown>>): boolean =>
  EFFECTS.some((effect) => rule[effect] !== undefined);
const NO_EFFECT = `expected at least one of ${EFFECTS.join(", ")}`;

/** A rule without its id, as the API takes it. */
export const RuleBody = v.pipe(
  v.strictObject(members),
  v.check((rule) => hasEffect(rule), NO_EFFECT),
);
export type RuleBody = v.InferOutput<typeof RuleBody>;

export const FlowRule = v.pipe(
  v.strictObject({ id: RuleId, ...members }),
  v.check((rule) => hasEffect(rule), NO_EFFECT),
);
export type FlowRule = v.InferOutput<typeof FlowRule>;

/** Rules that a workspace, or a langgraph.json, has at most: each run is compared with all. */
export const MAX_RULES = 100;

/** The workspace's rules that count: those whose ids no rule of langgraph.json has (docs/flow-control.md). */
export function ownInForce<Rule extends { id: string }>(deployed: Rule[], own: Rule[]): Rule[] {
  const taken = new Set(deployed.map(({ id }) => id));
  return own.filter(({ id }) => !taken.has(id));
}

/** The rules that count: those of langgraph.json first. */
export const mergeRules = <Rule extends { id: string }>(deployed: Rule[], own: Rule[]): Rule[] => [
  ...deployed,
  ...ownInForce(deployed, own),
];

/** The rules of langgraph.json, filled by createWeir. The API reads them and changes none. */
export const deployedRules: FlowRule[] = [];

export const FlowRules = v.pipe(
  v.array(FlowRule),
  v.maxLength(MAX_RULES, `at most ${MAX_RULES} rules`),
  v.check((rules) => new Set(rules.map(({ id }) => id)).size === rules.length, "two rules have the same id"),
);
