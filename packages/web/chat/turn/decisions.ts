/** The interrupts of a waiting run, and answers in their format. */

type DecisionKind = "approve" | "edit" | "reject" | "respond";

export interface Action {
  name: string;
  args: Record<string, unknown>;
  description?: string;
  allowed: DecisionKind[];
}

type ParsedInterrupt =
  | { kind: "actions"; actions: Action[] }
  | { kind: "text"; text: string }
  | { kind: "value"; value: unknown };

export type Decision =
  | { type: "approve" }
  | { type: "edit"; edited_action: { name: string; args: Record<string, unknown> } }
  | { type: "reject"; message?: string }
  | { type: "respond"; message: string };

const ALL: DecisionKind[] = ["approve", "edit", "reject"];

interface Request {
  name?: string;
  action?: string;
  args?: Record<string, unknown>;
  arguments?: Record<string, unknown>;
  description?: string;
}

interface Review {
  action_name?: string;
  actionName?: string;
  allowed_decisions?: DecisionKind[];
  allowedDecisions?: DecisionKind[];
}

/** Reads an interrupt's value: the review shape of human-in-the-loop middleware (either casing), a text, or anything. */
export function parseInterrupt(value: unknown): ParsedInterrupt {
  if (typeof value === "string") return { kind: "text", text: value };
  const record = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const requests = record.action_requests ?? record.actionRequests;
  if (Array.isArray(requests) && requests.length > 0) {
    const reviews = (record.review_configs ?? record.reviewConfigs ?? []) as Review[];
    return { kind: "actions", actions: (requests as Request[]).map((request, i) => parseAction(request, reviews, i)) };
  }
  const text = record.question ?? record.message ?? record.prompt;
  const plain = Object.keys(record).length === 1;
  return typeof text === "string" && plain ? { kind: "text", text } : { kind: "value", value };
}

function parseAction(request: Request, reviews: Review[], i: number): Action {
  const name = request.name ?? request.action ?? "action";
  const review = reviews.find((config) => (config.action_name ?? config.actionName) === name) ?? reviews[i];
  return {
    name,
    args: request.args ?? request.arguments ?? {},
    description: request.description,
    allowed: review?.allowed_decisions ?? review?.allowedDecisions ?? ALL,
  };
}

/** How many answers an interrupt requires. */
export function decisionsIn(value: unknown): number {
  const parsed = parseInterrupt(value);
  return parsed.kind === "actions" ? parsed.actions.length : 1;
}
