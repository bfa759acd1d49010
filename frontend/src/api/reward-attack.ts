import { useMutation } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type AttackReport = Schemas["AttackReport"];
export type AttackFinding = Schemas["AttackFinding"];

/** Searches for wrong completions that code which is not stored pays for. */
export const useAttackSource = () =>
  useMutation({
    mutationFn: (body: Schemas["RewardAttack"]) => unwrap(http.POST("/api/v1/rewards/attack", { body })),
  });
