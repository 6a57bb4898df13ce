/** Who the page calls as, and what that may do. The page hides what is not allowed; the server refuses it anyway. */
import { useQuery } from "@tanstack/react-query";
import type { Permission } from "../../../src/http/principal.ts";
import { callFor } from "./http.ts";
import { meRequest } from "./requests.ts";

export interface Me {
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
    queryKey: ["me"],
    queryFn: ({ signal }) => callFor<Me>(meRequest, signal),
    staleTime: 30_000,
  });
}

/** Whether the caller has a permission. True while that is not known. */
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
