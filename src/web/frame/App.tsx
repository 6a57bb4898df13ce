import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Redirect, Route, Switch } from "wouter";
import { queryClient } from "../api/queries.ts";
import { Notice } from "../chat/Empty.tsx";
import { Bare } from "../chat/Header.tsx";
import { Gate } from "./Gate.tsx";
import { Shell } from "./Shell.tsx";
import { SignedIn } from "./SignedIn.tsx";

const Chat = lazy(() => import("../chat/Chat.tsx"));
const Traces = lazy(() => import("../trace/Traces.tsx"));

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <Switch>
        <Route path="/signed-in">
          <SignedIn />
        </Route>
        <Route>
          <Gate>
            <Shell>
              <Suspense fallback={null}>
                <Switch>
                  <Route path="/chat/:threadId">{({ threadId }) => <Chat threadId={threadId} />}</Route>
                  <Route path="/traces/:traceId">{({ traceId }) => <Traces traceId={traceId} />}</Route>
                  <Route path="/traces">
                    <Traces traceId={undefined} />
                  </Route>
                  <Route path="/chat">
                    <Redirect to="/" />
                  </Route>
                  <Route path="/">
                    <Chat threadId={undefined} />
                  </Route>
                  <Route>
                    <Bare>
                      <Notice title="No such page." text="The threads are on the left." />
                    </Bare>
                  </Route>
                </Switch>
              </Suspense>
            </Shell>
          </Gate>
        </Route>
      </Switch>
    </QueryClientProvider>
  );
}
