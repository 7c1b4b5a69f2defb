"""The same cases by TRL's own code: its trainer's loss and advantages, called on given numbers."""

from collections import defaultdict
from types import SimpleNamespace

import torch
from trl.trainer.grpo_trainer import GRPOTrainer


class OneProcess:
    """What the loss asks of accelerate, on one process."""

    num_processes = 1
    process_index = 0
    sync_gradients = True

    def gather(self, x):
        return x

    def reduce(self, x, reduction="sum"):
        return x

    def pad_across_processes(self, x, dim=0, pad_index=0):
        return x


def pad(values, lengths, fill=0.0):
    """[tokens] to [sequences, longest]."""
    rows, begin = [], 0
    for length in lengths:
        row = values[begin : begin + length]
        rows.append(torch.cat([row, torch.full((max(lengths) - length,), fill, dtype=row.dtype)]))
        begin += length
    return torch.stack(rows)


def trainer(options, counts):
    kind = options["loss"]
    sequence_level = kind in ("gspo", "luspo")
    aggregation = options.get("aggregation") or {"gspo": "grpo"}.get(kind, "dapo")
    self = object.__new__(GRPOTrainer)
    self.accelerator = OneProcess()
    self.model = SimpleNamespace(training=True)
    self._metrics = {"train": defaultdict(list)}
    self.loss_type = kind if kind in ("cispo", "sapo", "luspo", "vespo") else aggregation
    self.importance_sampling_level = "sequence" if sequence_level else "token"
    default_low, default_high = (3e-4, 4e-4) if sequence_level else (0.2, 0.2)
    self.epsilon_low = options.get("epsilon", default_low)
    self.epsilon_high = options.get("epsilon_high", options.get("epsilon", default_high))
    if kind == "cispo":
        self.epsilon_high = options.get("cispo_max", 5.0)
    self.beta = options.get("beta", 0.0)
    self.off_policy_mask_threshold = options.get("off_policy_threshold")
    self.top_entropy_quantile = options.get("top_entropy_quantile", 1.0)
    self.entropy_coef = options.get("entropy_coef", 0.0)
    self.use_adaptive_entropy = False
    self._entropy_bonus_enabled = self.entropy_coef != 0
    self.aux_loss_enabled = False
    self.use_vllm = options.get("correction", "none") != "none"
    self.vllm_importance_sampling_correction = True
    self.current_gradient_accumulation_steps = 1
    self.max_completion_length = counts["max_completion_length"]
    self.args = SimpleNamespace(
        delta=options.get("delta"),
        use_bias_correction_kl=options.get("kl_times_ratio", True),
        sapo_temperature_pos=options.get("sapo_temperature_pos", 1.0),
        sapo_temperature_neg=options.get("sapo_temperature_neg", 1.05),
        vespo_k_pos=2.0, vespo_lambda_pos=3.0, vespo_k_neg=3.0, vespo_lambda_neg=2.0,
        steps_per_generation=1,
    )
    return self


def loss(batch, options, counts, weights):
    """TRL's loss; `weights` are those of the sampler's correction, one a token."""
    lengths = batch["lengths"]
    self = trainer(options, counts)
    logps, entropies = pad(batch["logprob"], lengths), pad(batch["entropy"], lengths)
    self._get_per_token_logps_and_entropies = lambda *args, **kwargs: (logps, entropies, None)
    tensor = lambda key: pad(torch.tensor(batch[key], dtype=torch.float64), lengths)
    mask = tensor("mask")
    inputs = {
        "prompt_ids": torch.zeros(len(lengths), 1, dtype=torch.long),
        "prompt_mask": torch.ones(len(lengths), 1, dtype=torch.long),
        "completion_ids": torch.zeros_like(mask, dtype=torch.long),
        "completion_mask": mask,
        "advantages": torch.tensor(batch["advantage"], dtype=torch.float64),
        "num_items_in_batch": mask.sum(),
        "old_per_token_logps": tensor("old"),
        "ref_per_token_logps": tensor("ref"),
        "sampling_per_token_logps": tensor("sampler"),
    }
    if self.use_vllm:
        inputs["importance_sampling_ratio"] = pad(weights, lengths, fill=1.0)
    return GRPOTrainer._compute_loss(self, self.model, inputs)


def advantages(rewards, group_size, scale, combine, weights):
    """TRL's advantages, by running its scoring of a generation batch with the generation replaced."""
    count = len(rewards[0])
    self = object.__new__(GRPOTrainer)
    self.accelerator = OneProcess()
    self.accelerator.device = torch.device("cpu")
    self.model = SimpleNamespace(training=True, is_gradient_checkpointing=False)
    self.args = SimpleNamespace(
        per_device_train_batch_size=count, steps_per_generation=1, gradient_accumulation_steps=1,
        gradient_checkpointing_kwargs=None,
    )
    self.num_generations, self.num_iterations, self.beta = group_size, 1, 0.0
    self.environment_factories = self.environments = self.tools = None
    self.use_vllm = self.mask_truncated_completions = self._is_vlm = self.log_multimodal = False
    self.pad_to_multiple_of = None
    self.vllm_importance_sampling_correction = False
    self._tokenizer = SimpleNamespace(pad_token_id=0)
    self.scale_rewards, self.multi_objective_aggregation = scale, combine
    self.reward_weights = torch.tensor(weights)
    self.reward_funcs = self.reward_func_names = [f"f{k}" for k in range(len(rewards))]

    self._metrics = {"train": defaultdict(list)}
    self._logs = {"prompt": [], "completion": [], "advantages": [], "rewards": defaultdict(list), "extra": {}}
    self._pending_extra_logs, self._pending_metrics = defaultdict(list), defaultdict(list)
    ids = [[1]] * count
    self._generate = lambda prompts: (ids, ids, None, [""] * count, None, {}, None, [])
    self._calculate_rewards = lambda *args: torch.tensor(
        [[float("nan") if r is None else r for r in row] for row in zip(*rewards)], dtype=torch.float64
    )
    output = GRPOTrainer._generate_and_score_completions(self, [{"prompt": ""}] * count)
    return output["advantages"].tolist()
