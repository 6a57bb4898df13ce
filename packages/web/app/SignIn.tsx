import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { discover, forgetClient, signInAt, startSignIn } from "../api/oauth.ts";
import { currentSession, setSession } from "../api/session.ts";
import { Button } from "../ui/Button.tsx";
import { Mark } from "./Mark.tsx";
import css from "./SignIn.module.css";
import controls from "../ui/controls.module.css";

/** An API key or the server's own sign-in, which are kept for this tab only, or the OpenID provider of the members. */
export function SignIn({ refusal, onDone }: { refusal: string; onDone: () => void }) {
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
