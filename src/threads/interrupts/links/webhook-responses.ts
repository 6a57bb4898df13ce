/** What the webhook of a run that asks says about its questions, and what its receiver answers. */
import { isObject, NESTING, nestsDeeper, parseJson, type Json } from "../../../lib/json.ts";
import { publicAddress } from "../../../http/context.ts";
import { deriveUuid } from "../../../lib/uuid.ts";
import { urlOfLink, findLinkState, requestToResume, ownLink } from "./links.ts";
import type { InterruptsOfDelivery } from "../../types.ts";
import type { ThreadContext } from "../../context.ts";
import { pendingInterrupts } from "../../record.ts";
import { interruptIds, listInterrupts, responsesById } from "../waiting.ts";
import { refuseBroken } from "../../state/migrate.ts";
import type { RunRecord } from "../../run.ts";
import { withLimitsNow } from "../../runs/insert.ts";
import type { Runner } from "../../runs/runner.ts";

/** The questions of the run that still wait: on the wire, and those that the receiver may answer. */
export async function interruptsForWebhook(
  context: ThreadContext,
  { open }: Pick<Runner, "open">,
  { id: run_id, outcome, request }: RunRecord,
): Promise<{ interrupts: Json[]; asked: InterruptsOfDelivery } | undefined> {
  const raised = interruptIds(outcome.interrupts);
  const own = listInterrupts(context.record?.interrupts).filter(({ id }) => id !== undefined && raised.includes(id));
  if (own.length === 0) return undefined;
  const origin = request.origin ?? publicAddress(context.env);
  const asked: InterruptsOfDelivery = { run_id, links: [] };
  const interrupts: Json[] = [];
  for (const { id = "", value } of own) {
    const link = ownLink(context, open, id, "webhook");
    if (link) asked.links.push(link.link_id);
    const url = link && origin !== undefined ? await urlOfLink(context.env, origin, context, link) : undefined;
    const way = link && url !== undefined && { answer_url: url, expires_at: new Date(link.expires).toISOString() };
    interrupts.push({ id, value, ...way });
  }
  return { interrupts, asked };
}

/** Resumes the run with what its webhook's receiver has answered: `{"resume": …}`. Any other answer says nothing. */
export async function acceptWebhookResponse(
  context: ThreadContext,
  runner: Runner,
  { run_id, links }: InterruptsOfDelivery,
  text: string,
): Promise<void> {
  const body = parseJson(text);
  if (!isObject(body) || !("resume" in body)) return;
  const ignore = (reason: string) =>
    console.warn(JSON.stringify({ level: "warn", thread: context.threadId, run: run_id, webhookAnswer: reason }));
  if (nestsDeeper(body.resume)) return ignore(`nests deeper than ${NESTING} levels`);
  const read = () => {
    const linkStates = links.map((id) => findLinkState(context, runner.open, id));
    const waiting = linkStates.flatMap((one) => (one?.state === "waits" ? [one.link.interrupt_id] : []));
    // The question of a budget has no link.
    const asked = linkStates.flatMap((one) => one?.link.interrupt_id ?? []);
    const given = responsesById(body.resume ?? null, [...new Set([...asked, ...pendingInterrupts(context.record)])]);
    const left = Object.entries(given ?? {}).filter(([id]) => waiting.includes(id));
    return left.length > 0 ? Object.fromEntries(left) : undefined;
  };
  const actor = { kind: "webhook", credentialId: run_id, via: "webhook" as const };
  // A delivery that is repeated, and answered again, leads to the same run.
  const answer = { run_id: deriveUuid(`answer of the webhook of ${run_id}`), actor };
  try {
    const resume = read();
    const asked = resume && requestToResume(context, { ...answer, resume });
    if (!asked) return ignore("answers no question that waits");
    const request = await withLimitsNow(context, asked);
    await refuseBroken(context, runner, request);
    // A question may have been answered in between. From here on nothing waits.
    const left = read();
    if (!left) return ignore("answers no question that waits");
    runner.create({ ...request, command: { resume: left }, must_resume: Object.keys(left) });
  } catch (error) {
    ignore(String(error));
  }
}
