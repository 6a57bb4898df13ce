/** Lets in who the server lets in: asks it, and shows the sign-in when it says no. */
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiError } from "../api/http.ts";
import { useAssistants } from "../api/queries.ts";
import { useMe } from "../api/me.ts";
import { LoadFailed } from "../chat/Notice.tsx";
import css from "./SignIn.module.css";
import { SignIn } from "./SignIn.tsx";

const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 401 || error.status === 403);

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
