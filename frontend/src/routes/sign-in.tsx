import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { SignIn } from "@/features/session/SignIn";

const route = getRouteApi("/sign-in");

export function SignInRoute() {
  const { token, next, ended = false } = route.useSearch();
  const navigate = useNavigate();
  // Only a path of this page: never an address from elsewhere.
  const target = next?.startsWith("/") && !next.startsWith("//") ? next : "/";
  return <SignIn token={token} ended={ended} onDone={() => void navigate({ href: target, replace: true })} />;
}
