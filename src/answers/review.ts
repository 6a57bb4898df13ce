/** The questions that LangChain's human-in-the-loop middleware asks: actions, each with the decisions that it allows. */
import { isObject } from "../lib/json.ts";
import type { Json } from "../lib/json.ts";

const DECISIONS = ["approve", "edit", "reject", "respond"] as const;
export type DecisionType = (typeof DECISIONS)[number];

export interface Action {
  name: string;
  args: Json;
  description?: string;
  allowed: DecisionType[];
}

const USUAL: DecisionType[] = ["approve", "edit", "reject"];

/** The actions to review, in either casing of their members; undefined for any other question. */
export function actionsIn(value: unknown): Action[] | undefined {
  if (!isObject(value)) return undefined;
  const requests = value.action_requests ?? value.actionRequests;
  if (!Array.isArray(requests) || requests.length === 0) return undefined;
  const reviews = [value.review_configs ?? value.reviewConfigs ?? []].flat().filter(isObject);
  return requests.map((one: unknown, index) => readAction(isObject(one) ? one : {}, reviews, index));
}

function readAction(request: Json, reviews: Json[], index: number): Action {
  const name = [request.name, request.action].find((one) => typeof one === "string") ?? "action";
  const review = reviews.find((one) => (one.action_name ?? one.actionName) === name) ?? reviews[index];
  const listed = review?.allowed_decisions ?? review?.allowedDecisions;
  const given = request.args ?? request.arguments;
  return {
    name,
    args: isObject(given) ? given : {},
    ...(typeof request.description === "string" && { description: request.description }),
    allowed: Array.isArray(listed) ? DECISIONS.filter((one) => listed.includes(one)) : USUAL,
  };
}

/** What is not allowed of an answer to these actions. `only`: the types of decision that the link accepts. */
export function faultOfDecisions(actions: Action[], only: unknown[] | undefined, answer: unknown): string | undefined {
  const decisions = isObject(answer) ? answer.decisions : undefined;
  if (!Array.isArray(decisions) || decisions.length !== actions.length)
    return `Give {"decisions": […]} with ${actions.length === 1 ? "one decision" : `${actions.length} decisions`}.`;
  return actions.map((action, i) => checkDecision(action, only, decisions[i])).find((fault) => fault !== undefined);
}

function checkDecision({ name, allowed }: Action, only: unknown[] | undefined, decision: unknown): string | undefined {
  const { type, edited_action, message } = isObject(decision) ? decision : ({} as Json);
  const types = limitDecisions(allowed, only);
  if (!types.includes(type as DecisionType)) return `The decision on ${name} must be one of: ${types.join(", ")}.`;
  const isEdited = isObject(edited_action) && typeof edited_action.name === "string" && isObject(edited_action.args);
  if (type === "edit" && !isEdited) return `An edit of ${name} needs edited_action with name and args.`;
  if (type === "respond" && typeof message !== "string") return `A response to ${name} needs a message.`;
  if (message !== undefined && typeof message !== "string") return `The message about ${name} must be a text.`;
  return undefined;
}

/** The types of decision that an action and the link both allow. */
export const limitDecisions = (allowed: DecisionType[], only: unknown[] | undefined): DecisionType[] =>
  only ? allowed.filter((one) => only.includes(one)) : allowed;
