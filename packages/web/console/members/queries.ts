/** People of the workspace: members, invitations and the browsers in which they are signed in. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import type {
  Invitation,
  Member,
  NewInvitation,
  Session as BrowserSession,
} from "../../../../src/access/members/wire.ts";

export type { BrowserSession, Invitation, Member, NewInvitation };

const MEMBERS = "/api/v1/members";
const INVITATIONS = "/api/v1/invitations";

/** The most that the page reads: as many as a workspace may have. */
const MOST = 1_000;

export function useMembers() {
  return useQuery({
    queryKey: ["members"],
    queryFn: ({ signal }) => call<Member[]>("GET", `${MEMBERS}?limit=${MOST}`, undefined, signal),
  });
}

export function useInvitations() {
  return useQuery({
    queryKey: ["members", "invitations"],
    queryFn: ({ signal }) => call<Invitation[]>("GET", `${INVITATIONS}?limit=${MOST}`, undefined, signal),
  });
}

export function useSessions(memberId: string) {
  return useQuery({
    queryKey: ["members", memberId, "sessions"],
    queryFn: ({ signal }) => call<BrowserSession[]>("GET", `${MEMBERS}/${memberId}/sessions`, undefined, signal),
  });
}

/** The own role may be what has changed. */
const again = async () => {
  await queryClient.invalidateQueries({ queryKey: ["members"] });
  await queryClient.invalidateQueries({ queryKey: ["me"] });
};

export async function changeRole(id: string, role: string): Promise<void> {
  await call("PATCH", `${MEMBERS}/${id}`, { role });
  await again();
}

export async function removeMember(id: string): Promise<void> {
  await call("DELETE", `${MEMBERS}/${id}`);
  await again();
}

export async function endSession(memberId: string, id: string): Promise<void> {
  await call("DELETE", `${MEMBERS}/${memberId}/sessions/${id}`);
  await again();
}

export async function invite(terms: {
  role: string;
  email: string | null;
  expires_in_seconds: number;
}): Promise<NewInvitation> {
  const made = await call<NewInvitation>("POST", INVITATIONS, terms);
  await again();
  return made;
}

export async function takeBack(id: string): Promise<void> {
  await call("DELETE", `${INVITATIONS}/${id}`);
  await again();
}

/** A member in words: the address, or what the provider calls the person. */
export const memberName = ({ email, subject }: Pick<Member, "email" | "subject">): string => email ?? subject;

/** Whether an invitation may be accepted, was accepted, or is over. */
export function invitationState({ accepted_at, expires_at }: Invitation, now: number): "open" | "accepted" | "expired" {
  if (accepted_at !== null) return "accepted";
  return expires_at !== null && Date.parse(expires_at) <= now ? "expired" : "open";
}
