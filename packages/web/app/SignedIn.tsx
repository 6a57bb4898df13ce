import { useEffect, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { finishSignIn } from "../api/oauth.ts";
import { LoadFailed } from "../chat/Notice.tsx";
import css from "./SignIn.module.css";

/** The redirect address of the server's consent page. */
export function SignedIn() {
  const search = useSearch();
  const [, navigate] = useLocation();
  const [trouble, setTrouble] = useState("");
  const started = useRef(false);
  useEffect(() => {
    // A code is good for one exchange; effects run twice in development.
    if (started.current) return;
    started.current = true;
    finishSignIn(search)
      .then((from) => navigate(from, { replace: true }))
      .catch((error: unknown) => setTrouble(error instanceof Error ? error.message : "The sign-in failed."));
  }, [search, navigate]);
  return (
    <main className={css.page}>
      {trouble === "" ? (
        <p role="status">Signing in…</p>
      ) : (
        <LoadFailed title="Not signed in." error={trouble} onRetry={() => navigate("/", { replace: true })} />
      )}
    </main>
  );
}
