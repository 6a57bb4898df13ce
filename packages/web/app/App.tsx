import { QueryClientProvider } from "@tanstack/react-query";
import { type ComponentType, lazy, Suspense, useState, Component, type ReactNode } from "react";
import { Route, Switch, Link } from "wouter";
import { useRefusal } from "../api/me.ts";
import { queryClient } from "../api/queries.ts";
import { Empty, Loading } from "../resources/states.tsx";
import type { ViewProps } from "./view-props.ts";
import { Page } from "../resources/Page.tsx";
import { loadedView, loadView } from "./prefetch.ts";
import { Gate, SignedIn } from "./SignIn.tsx";
import { Shell } from "./Shell.tsx";
import { type View, VIEWS } from "./routes.ts";
import { Button } from "../ui/Button.tsx";

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

const LAZY = new Map(VIEWS.map((view) => [view, lazy(() => loadView(view))]));

/** A view, or its outline until its chunk is there. */
function Loaded({ view, id }: { view: View; id: string | undefined }) {
  const refusal = useRefusal(view.permission);
  // A lazy component is never there in its first render, and React keeps an outline for 300 ms.
  const [Shown] = useState<ComponentType<ViewProps>>(() => loadedView(view) ?? LAZY.get(view)!);
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

interface Props {
  /** The view in it. */
  name: string;
  /** The item in view. With another one the view is tried again. */
  id: string | undefined;
  children: ReactNode;
}

interface State {
  error: Error | undefined;
  id: string | undefined;
}

/** Keeps an error of one view from taking the page away: React removes everything up to the next boundary. */
class Boundary extends Component<Props, State> {
  override state: State = { error: undefined, id: this.props.id };

  static getDerivedStateFromError(thrown: unknown): Partial<State> {
    return { error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  static getDerivedStateFromProps({ id }: Props, state: State): State | null {
    return id === state.id ? null : { error: undefined, id };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <Page title={this.props.name}>
        <div role="alert">
          <Empty
            title="This page cannot be shown."
            text="Load it again. If it fails again, the console of the browser has the details."
          >
            <p>{error.message}</p>
            <div>
              <Button onClick={() => location.reload()}>Load again</Button>
            </div>
          </Empty>
        </div>
      </Page>
    );
  }
}

function NotFound() {
  return (
    <Page title="Page not found">
      <Empty title="No page has this address." text="Check the address, or choose a page from the navigation.">
        <p>
          <Link href="/">Open the start page</Link>
        </p>
      </Empty>
    </Page>
  );
}
