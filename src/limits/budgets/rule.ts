/** The shape of a budget, in langgraph.json and in the API (docs/budgets.md). */
import * as v from "valibot";
import { Key, Match, RuleId } from "../flow/rule.ts";

const PERIODS = ["run", "thread", "day"] as const;
export type BudgetPeriod = (typeof PERIODS)[number];

/** The most that a budget allows. */
const MAX_LIMITS = { dollars: 1_000_000, tokens: 1_000_000_000_000 };

const members = {
  match: v.optional(Match),
  /** What counts apart within a day. A run and a thread count apart by themselves. */
  key: v.optional(Key),
  per: v.picklist(PERIODS),
  dollars: v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(MAX_LIMITS.dollars))),
  tokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_LIMITS.tokens))),
  /** `ask`: the run pauses until a person approves more. `end`: it ends with an error. */
  at_limit: v.optional(v.picklist(["ask", "end"]), "ask"),
  /** Is called at 80 %. Default: the run's own webhook. */
  webhook: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(2_000),
      v.check((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), "must be an http(s) URL"),
    ),
  ),
};

interface BudgetLimits {
  dollars?: number;
  tokens?: number;
}
interface BudgetScope {
  per: BudgetPeriod;
  key?: string;
}
const hasOneLimit = ({ dollars, tokens }: BudgetLimits): boolean => (dollars === undefined) !== (tokens === undefined);
const hasUsefulKey = ({ per, key }: BudgetScope): boolean => key === undefined || per === "day";
const ONE_LIMIT = "expected either dollars or tokens";
const USEFUL_KEY = 'a key needs per: "day". A run and a thread count for themselves; match selects them';

/** A budget without its id, as the API takes it. */
export const BudgetBody = v.pipe(
  v.strictObject(members),
  v.check((budget) => hasOneLimit(budget), ONE_LIMIT),
  v.check((budget) => hasUsefulKey(budget), USEFUL_KEY),
);

const Budget = v.pipe(
  v.strictObject({ id: RuleId, ...members }),
  v.check((budget) => hasOneLimit(budget), ONE_LIMIT),
  v.check((budget) => hasUsefulKey(budget), USEFUL_KEY),
);
export type Budget = v.InferOutput<typeof Budget>;

/** Budgets that a workspace, or a langgraph.json, has at most: each run is compared with all. */
export const MAX_BUDGETS = 100;

/** The budgets of langgraph.json, filled by createWeir. The API reads them and changes none. */
export const deployedBudgets: Budget[] = [];

export const Budgets = v.pipe(
  v.array(Budget),
  v.maxLength(MAX_BUDGETS, `at most ${MAX_BUDGETS} budgets`),
  v.check((budgets) => new Set(budgets.map(({ id }) => id)).size === budgets.length, "two budgets have the same id"),
);
