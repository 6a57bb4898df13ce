/** The part of a thread's object that is about its questions: links to answer them, and which answer was first. */
import { firstAnswer } from "./interrupts/responses.ts";
import type { AnswerLink, FirstAnswer, GivenByLink, LinkRpc, NewLink, Standing, Via } from "./answering.ts";
import { refuseBroken } from "./graph/continue.ts";
import { Keyed } from "./keyed.ts";
import type { Parts } from "./object/parts.ts";
import { withLimitsNow } from "./runs/limits-now.ts";
import { findAsked, findContinuing, listLinks, makeLink, ownLink, removeLink } from "./interrupts/links/links.ts";

export abstract class Questioned extends Keyed implements LinkRpc {
  /** What the thread is made of. Throws when it cannot be read. */
  protected abstract opened(): Parts;

  async makeLink(link: NewLink): Promise<AnswerLink> {
    const { context, runner } = this.opened();
    return makeLink(context, runner.open, link);
  }

  async ownLink(interruptId: string, via: Via): Promise<AnswerLink | undefined> {
    const { context, runner } = this.opened();
    return ownLink(context, runner.open, interruptId, via);
  }

  async listLinks(interruptId: string): Promise<Standing[]> {
    const { context, runner } = this.opened();
    return listLinks(context, runner.open, interruptId);
  }

  async removeLink(interruptId: string, linkId: string): Promise<boolean> {
    return removeLink(this.opened().context, interruptId, linkId);
  }

  async askedBy(linkId: string): Promise<Standing | undefined> {
    const { context, runner } = this.opened();
    return findAsked(context, runner.open, linkId);
  }

  async answerLink(
    linkId: string,
    given: GivenByLink,
  ): Promise<Standing | { state: "accepted"; run_id: string } | undefined> {
    const { context, runner } = this.opened();
    const accepted = { state: "accepted" as const, run_id: given.run_id };
    if (context.run(given.run_id)) return accepted;
    const link = findAsked(context, runner.open, linkId)?.link;
    const { run_id, answer, actor } = given;
    const resume = link && { [link.interrupt_id]: answer ?? null };
    const asked = resume && findContinuing(context, { run_id, resume, actor });
    const request = asked && (await withLimitsNow(context, asked));
    if (request) await refuseBroken(context, runner, request);
    // From here on nothing waits, so that no other answer comes in between.
    const standing = findAsked(context, runner.open, linkId);
    if (standing?.state !== "waits") return standing;
    if (!request) return { state: "gone", link: standing.link };
    runner.create(request);
    await context.projected();
    return accepted;
  }

  async answersTaken(interruptIds: string[]): Promise<Record<string, FirstAnswer>> {
    const { context } = this.opened();
    const found = interruptIds.map((id) => [id, firstAnswer(context, id)] as const);
    return Object.fromEntries(found.flatMap(([id, first]) => (first ? [[id, first] as const] : [])));
  }
}
