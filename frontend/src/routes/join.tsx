import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Join } from "@/features/session/Join";
import { ResetPassword } from "@/features/session/ResetPassword";

function useHome() {
  const navigate = useNavigate();
  return () => void navigate({ to: "/", replace: true });
}

export function JoinRoute() {
  const { token = "" } = getRouteApi("/join").useSearch();
  return <Join token={token} onDone={useHome()} />;
}

export function ResetPasswordRoute() {
  const { token = "" } = getRouteApi("/reset-password").useSearch();
  return <ResetPassword token={token} onDone={useHome()} />;
}
