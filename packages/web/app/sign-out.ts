/** Ends the session of this tab, from the navigation and from the palette. */
import { useLocation } from "wouter";
import { useMe } from "../api/me.ts";
import { endBrowserSession, signOut } from "../api/oauth.ts";
import { queryClient } from "../api/queries.ts";
import { currentSession } from "../api/session.ts";
import { forgetTab } from "../ui/storage.ts";

/** Undefined where there is no session: on a server without authentication. */
export function useSignOut(): (() => void) | undefined {
  const [, navigate] = useLocation();
  const { data: me } = useMe();
  if (!currentSession() && !me?.member) return undefined;
  return () => {
    // If the request fails, the tokens and the session expire on the server.
    const out = me?.member ? endBrowserSession() : signOut();
    void out
      .catch(() => {})
      .finally(() => {
        forgetTab();
        navigate("/");
        void queryClient.resetQueries();
      });
  };
}
