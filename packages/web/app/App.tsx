import { QueryClientProvider } from "@tanstack/react-query";
import { type ComponentType, Suspense, useState } from "react";
import { Route, Switch } from "wouter";
import { useRefusal } from "../api/me.ts";
import { queryClient } from "../api/queries.ts";
import { Empty, Loading } from "../resources/states.tsx";
import type { ViewProps } from "./view-props.ts";
import { Page } from "../resources/Page.tsx";
import { Boundary } from "./Boundary.tsx";
import { loadedView } from "./code.ts";
import { Gate } from "./Gate.tsx";
import { NotFound } from "./NotFound.tsx";
import { Shell } from "./Shell.tsx";
import { SignedIn } from "./SignedIn.tsx";
import { type View, VIEWS } from "./routes.tsx";

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
              <Switch>
                {VIEWS.map((view) => (
                  <Route key={view.path} path={view.path === "/" ? "/" : (`${view.path}/:id?` as "/:id?")}>
                    {(params) => <Loaded view={view} id={"id" in params ? params.id : undefined} />}
                  </Route>
                ))}
                <Route>
                  <NotFound />
                </Route>
              </Switch>
            </Shell>
          </Gate>
        </Route>
      </Switch>
    </QueryClientProvider>
  );
}

/** A view, or its outline until its chunk is there. */
function Loaded({ view, id }: { view: View; id: string | undefined }) {
  const refusal = useRefusal(view.needs);
  // A lazy component is never there in its first render, and React keeps an outline for 300 ms.
  const [Shown] = useState<ComponentType<ViewProps>>(() => loadedView(view.path) ?? view.Page);
  if (refusal !== undefined)
    return (
      <Page title={view.name} purpose={view.purpose}>
        <Empty title="You may not see this page." text={`${refusal}. Use a key or an account that has it.`} />
      </Page>
    );
  return (
    <Boundary name={view.name} id={id}>
      <Suspense
        fallback={
          <Page title={view.name} purpose={view.purpose}>
            <Loading />
          </Page>
        }
      >
        <Shown id={id} />
      </Suspense>
    </Boundary>
  );
}
