/** Who the page calls as, and what that may do. The page hides what is not allowed; the server refuses it anyway. */
import { useQuery } from "@tanstack/react-query";
import type { Permission } from "../../../src/http/principal.ts";
import { callFor } from "./http.ts";
import { meRead } from "./requests.ts";
import { useState } from "react";

interface Me {
  /** Who gives feedback and reviews: a member, a key, a grant, or a user of the deployment's own sign-in. */
  id: string;
  kind: string;
  workspace: { id: string; name: string | null };
  role: string | null;
  permissions: Permission[];
  /** Null: a key, or an application. */
  member: {
    id: string;
    email: string | null;
    subject: string;
    workspaces: { id: string; name: string }[];
  } | null;
}

export function useMe() {
  return useQuery({
    queryKey: meRead.key,
    queryFn: ({ signal }) => callFor<Me>(meRead.request, signal),
    staleTime: 30_000,
  });
}

/** Whether the caller has a permission. True while that is unknown. */
export function useMay(): (permission: Permission) => boolean {
  const { data } = useMe();
  return (permission) => data?.permissions.includes(permission) ?? true;
}

/** Why the caller may not do what needs these permissions, for a title or a note; undefined when it may. */
export function useRefusal(...needs: Permission[]): string | undefined {
  const may = useMay();
  const missing = needs.filter((permission) => !may(permission));
  return missing.length === 0 ? undefined : `Needs the permission ${missing.join(" and ")}`;
}

/** An action of a person: whether it is allowed, whether it is under way, and why it failed. */
export interface Action {
  busy: boolean;
  /** Why the caller may not do it. */
  refusal: string | undefined;
  /** For the button that starts it. */
  button: { disabled: boolean; title: string | undefined };
  /** Empty: nothing failed. */
  trouble: string;
  run: (work: () => Promise<void>) => Promise<void>;
}

/** @param needs what the server requires for each request of the action */
export function useAction(...needs: [Permission, ...Permission[]]): Action {
  const refusal = useRefusal(...needs);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const run = async (work: () => Promise<void>) => {
    if (refusal !== undefined) return setTrouble(refusal);
    setBusy(true);
    setTrouble("");
    try {
      await work();
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : "It did not work.");
    } finally {
      setBusy(false);
    }
  };
  return { busy, refusal, button: { disabled: busy || refusal !== undefined, title: refusal }, trouble, run };
}
