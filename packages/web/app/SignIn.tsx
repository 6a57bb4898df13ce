import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState, useEffect, useRef, type ReactNode } from "react";
import { discover, forgetClient, signInAt, startSignIn, finishSignIn } from "../api/oauth.ts";
import { currentSession, setSession } from "../api/session.ts";
import { Button } from "../ui/Button.tsx";
import { Mark } from "./Mark.tsx";
import css from "./SignIn.module.css";
import controls from "../ui/controls.module.css";
import { useLocation, useSearch } from "wouter";
import { LoadFailed } from "../chat/Notice.tsx";
import { ApiError } from "../api/http.ts";
import { useAssistants } from "../api/queries.ts";
import { useMe } from "../api/me.ts";

/** An API key or the server's own sign-in, which are kept for this tab only, or the OpenID provider of the members. */
function SignIn({ refusal, onDone }: { refusal: string; onDone: () => void }) {
  const id = useId();
  const [key, setKey] = useState("");
  const [trouble, setTrouble] = useState("");
  const tried = currentSession() !== undefined;
  const offered = useQuery({ queryKey: ["oauth"], queryFn: async () => (await discover()) ?? null });
  const endpoint = offered.data?.weir_sign_in_endpoint;
  return (
    <main className={css.page}>
      <form
        className={css.card}
        onSubmit={(event) => {
          event.preventDefault();
          setSession({ kind: "key", secret: key.trim() });
          onDone();
        }}
      >
        <h1>
          <Mark /> Weir
        </h1>
        <p className={css.lead}>Sign in to your agents and their traces.</p>
        <label htmlFor={id}>API key</label>
        <input
          id={id}
          type="password"
          autoComplete="off"
          className={controls.field}
          value={key}
          aria-describedby={`${id}-note`}
          aria-invalid={tried}
          onChange={(event) => setKey(event.target.value)}
        />
        <p id={`${id}-note`} className={tried ? css.refused : css.note} role={tried ? "alert" : undefined}>
          {tried ? (
            refusal
          ) : (
            <>
              A key of this workspace, kept in this tab only. On your machine, <code>weir dev</code> prints one.
            </>
          )}
        </p>
        <Button look="filled" type="submit" disabled={key.trim() === ""}>
          Use this key
        </Button>
        {offered.data && (
          <>
            {endpoint !== undefined && (
              <Button onClick={() => signInAt(endpoint)}>
                Sign in with {offered.data.weir_sign_in_provider ?? "OpenID"}
              </Button>
            )}
            <Button
              onClick={() => {
                startSignIn().catch((error: unknown) => {
                  forgetClient();
                  setTrouble(error instanceof Error ? error.message : "The sign-in did not start.");
                });
              }}
            >
              Sign in at the server
            </Button>
            {trouble !== "" && (
              <p className={css.refused} role="alert">
                {trouble}
              </p>
            )}
          </>
        )}
      </form>
    </main>
  );
}

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

const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 401 || error.status === 403);

/** Lets in who the server lets in: asks it, and shows the sign-in when it says no. */
export function Gate({ children }: { children: ReactNode }) {
  const assistants = useAssistants();
  const client = useQueryClient();
  const me = useMe();
  const { error } = assistants;
  // A role without assistants may still use other views.
  if (isRefusal(error) && me.data) return children;
  if (isRefusal(error) && me.isPending) return null;
  if (isRefusal(error)) return <SignIn refusal={error.message} onDone={() => void client.resetQueries()} />;
  if (error && !assistants.data)
    return (
      <main className={css.page}>
        <LoadFailed
          title="The server cannot be reached."
          error={error.message}
          onRetry={() => void assistants.refetch()}
        />
      </main>
    );
  return children;
}
