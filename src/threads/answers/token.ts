/**
 * The token of a link: its workspace, thread, id, interrupt and end, sealed (auth/seal.ts). ENCRYPTION_KEY authenticates it, so that no
 * other can be made, and a reader learns nothing from it. The thread has the link itself, which can be revoked.
 */
import * as v from "valibot";
import { sealText, type SealKeys, unseal } from "../../lib/crypto.ts";
import type { AnswerLink } from "../answering.ts";

const PURPOSE = "interrupt link";
const ANSWERS_PATH = "/api/v1/answers";

const Held = v.strictTuple([v.string(), v.string(), v.string(), v.string(), v.number()]);

export interface HeldLink {
  workspaceId: string;
  threadId: string;
  linkId: string;
  interruptId: string;
  /** Milliseconds since 1970. */
  expires: number;
}

/** The address at which the link is answered. `origin`: this server's own, as the link's holder has it. */
export async function urlOfLink(
  keys: SealKeys,
  origin: string,
  { workspaceId, threadId }: Pick<HeldLink, "workspaceId" | "threadId">,
  { link_id, interrupt_id, expires }: AnswerLink,
): Promise<string> {
  const token = await sealText(keys, JSON.stringify([workspaceId, threadId, link_id, interrupt_id, expires]), PURPOSE);
  return `${origin}${ANSWERS_PATH}/${Buffer.from(token).toString("base64url")}`;
}

/** What a token names; undefined for one that this deployment has not made. It may have expired. */
export async function openToken(keys: SealKeys, token: string): Promise<HeldLink | undefined> {
  const text = await unseal(keys, Buffer.from(token, "base64url").toString(), PURPOSE).catch(() => undefined);
  const parsed = text === undefined ? undefined : v.safeParse(Held, JSON.parse(text));
  if (!parsed?.success) return undefined;
  const [workspaceId, threadId, linkId, interruptId, expires] = parsed.output;
  return { workspaceId, threadId, linkId, interruptId, expires };
}
