/** Keeps an error of one view from taking the page away: React removes everything up to the next boundary. */
import { Component, type ReactNode } from "react";
import { Page } from "../resources/Page.tsx";
import { Empty } from "../resources/states.tsx";
import { Button } from "../ui/Button.tsx";

interface Props {
  /** The view in it. */
  name: string;
  /** What the view shows. With another one it is tried again. */
  id: string | undefined;
  children: ReactNode;
}

interface State {
  error: Error | undefined;
  id: string | undefined;
}

export class Boundary extends Component<Props, State> {
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
