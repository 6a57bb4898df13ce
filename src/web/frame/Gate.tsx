/** Lets in who the server lets in: asks it, and shows the sign-in when it says no. */
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiError } from "../api/http.ts";
import { useAssistants } from "../api/queries.ts";
import { LoadFailed } from "../chat/Empty.tsx";
import css from "./SignIn.module.css";
import { SignIn } from "./SignIn.tsx";

export function Gate({ children }: { children: ReactNode }) {
  const assistants = useAssistants();
  const client = useQueryClient();
  const { error } = assistants;
  if (error instanceof ApiError && (error.status === 401 || error.status === 403))
    return <SignIn refusal={error.message} onDone={() => void client.resetQueries()} />;
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
