//===- MoEAttrs.td - attributes, enums and types of the moe dialect ------===//

#ifndef MOE_DIALECT_MOE_IR_MOEATTRS_TD
#define MOE_DIALECT_MOE_IR_MOEATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/EnumAttr.td"
include "moe/Dialect/MoE/IR/MoEDialect.td"

class MoE_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<MoE_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

class MoE_Enum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::mlir::moe";
}

class MoE_EnumAttr<EnumInfo info, string attrMnemonic> : EnumAttr<MoE_Dialect, info, attrMnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def MoE_TailState : MoE_Enum<"TailState", "what rows outside every group hold", [
  I32EnumCase<"Zero", 0, "zero">, I32EnumCase<"Undefined", 1, "undefined">]>;

def MoE_RaggedMode : MoE_Enum<"RaggedMode", "which dimension of the product is ragged", [
  I32EnumCase<"Rows", 0, "rows">, I32EnumCase<"Contraction", 1, "contraction">, I32EnumCase<"Batch", 2, "batch">]>;
def MoE_RaggedModeAttr : MoE_EnumAttr<MoE_RaggedMode, "mode">;

def MoE_WeightLayout : MoE_Enum<"WeightLayout", "order of a weight's dimensions", [
  I32EnumCase<"KN", 0, "kn">, I32EnumCase<"NK", 1, "nk">]>;
def MoE_WeightLayoutAttr : MoE_EnumAttr<MoE_WeightLayout, "weights">;

def MoE_Precision : MoE_Enum<"Precision", "how f32 operands are multiplied", [
  I32EnumCase<"Exact", 0, "exact">, I32EnumCase<"TF32", 1, "tf32">]>;
def MoE_PrecisionAttr : MoE_EnumAttr<MoE_Precision, "precision">;

def MoE_ScoreFunction : MoE_Enum<"ScoreFunction", "from logits to scores", [
  I32EnumCase<"Softmax", 0, "softmax">, I32EnumCase<"Sigmoid", 1, "sigmoid">]>;
def MoE_ScoreFunctionAttr : MoE_EnumAttr<MoE_ScoreFunction, "score">;

def MoE_NanPolicy : MoE_Enum<"NanPolicy", "what a NaN does", [
  I32EnumCase<"Last", 0, "last">, I32EnumCase<"Propagate", 1, "propagate">]>;
def MoE_NanPolicyAttr : MoE_EnumAttr<MoE_NanPolicy, "nan">;

def MoE_GateFunction : MoE_Enum<"GateFunction", "activation of the gate half", [
  I32EnumCase<"Silu", 0, "silu">, I32EnumCase<"GeluTanh", 1, "gelu_tanh">, I32EnumCase<"Relu", 2, "relu">,
  I32EnumCase<"Sigmoid", 3, "sigmoid">]>;
def MoE_GateFunctionAttr : MoE_EnumAttr<MoE_GateFunction, "gate">;

def MoE_GateLayout : MoE_Enum<"GateLayout", "where gate and up lie in a row", [
  I32EnumCase<"Concatenated", 0, "concatenated">, I32EnumCase<"Interleaved", 1, "interleaved">]>;
def MoE_GateLayoutAttr : MoE_EnumAttr<MoE_GateLayout, "halves">;

def MoE_PlanField : MoE_Enum<"PlanField", "one tensor of a routing plan", [
  I32EnumCase<"Sizes", 0, "sizes">, I32EnumCase<"Bounds", 1, "bounds">, I32EnumCase<"Permutation", 2, "permutation">,
  I32EnumCase<"Token", 3, "token">, I32EnumCase<"Inverse", 4, "inverse">, I32EnumCase<"Dropped", 5, "dropped">]>;
def MoE_PlanFieldAttr : MoE_EnumAttr<MoE_PlanField, "field">;

def MoE_Transport : MoE_Enum<"Transport", "how rows travel between ranks", [
  I32EnumCase<"Exact", 0, "exact">, I32EnumCase<"Capacity", 1, "capacity">, I32EnumCase<"Peer", 2, "peer">]>;

def MoE_RaggedAttr : MoE_Attr<"Ragged", "ragged", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "encoding of a tensor whose rows (dimension 0) are sorted by group";
  let description = [{
    Says what is *known* about a ragged tensor; how many rows each group has is said by a plan.
    - `groups`: number of groups, at least 0.
    - `tail`: what the rows outside every group (pad rows and the tail) hold. A producer may leave them
      unwritten only if its result says `undefined`.
    - `align`: every group starts at a multiple of this many rows, at least 1.

    Example: `tensor<?x64xbf16, #moe.ragged<groups = 8>>`,
    `tensor<?x64xbf16, #moe.ragged<groups = 8, tail = undefined, align = 128>>`.
  }];
  let parameters = (ins "int64_t":$groups,
    DefaultValuedParameter<"::mlir::moe::TailState", "::mlir::moe::TailState::Zero">:$tail,
    DefaultValuedParameter<"int64_t", "1">:$align);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class MoE_Type<string name, string typeMnemonic> : TypeDef<MoE_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def MoE_PlanType : MoE_Type<"Plan", "plan"> {
  let summary = "routing plan: which rows belong to which group, and which slot each row serves";
  let description = [{
    An SSA value of this type is the raggedness of the tensors that name it; two tensors are ragged in the
    same way only if they name the same plan.
    - `groups`: number of groups G.
    - `rows`: rows M of the ragged tensors, `?` if it follows from the number of tokens.
    - `tokens`, `topk`: the shape of the expert ids it was made from; `topk = 0` for a plan made from sizes,
      which knows no slots.
    - `align`: rows to a multiple of which every group starts.

    A plan cannot be passed to or returned from a function.
    Example: `!moe.plan<groups = 8, rows = ?, tokens = ?, topk = 2>`.
  }];
  let parameters = (ins "int64_t":$groups,
    DefaultValuedParameter<"int64_t", "::mlir::ShapedType::kDynamic">:$rows,
    DefaultValuedParameter<"int64_t", "::mlir::ShapedType::kDynamic">:$tokens,
    DefaultValuedParameter<"int64_t", "0">:$topk,
    DefaultValuedParameter<"int64_t", "1">:$align);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def MoE_RouteType : MoE_Type<"Route", "route"> {
  let summary = "which tokens go to which ranks of a mesh axis";
  let description = [{
    An SSA value of this type belongs to the expert ids it was made from, as a plan does.
    - `axis`, `ranks`: the mesh axis and its number of ranks.
    - `groups`: experts on each rank, at most.
    - `topk`, `tokens`: the shape of the expert ids; tokens is left out where it is dynamic.
    - `max_tokens`: the most tokens that a rank may have.
    - `transport`: what travels, and how. With `exact` as many rows as there are, whose number the host reads. With `capacity` equal blocks
      of rows, so that the host reads nothing and a graph can be captured; what has no room is dropped. With `peer` as many rows as there
      are, by stores into the other ranks' memory, if the target has such kernels (`prog.all_to_all`).
    - `pair_capacity`: of transport `capacity` only: the most slots that the tokens of one rank may have on another, at most
      max_tokens * topk, with which none is dropped.

    A token takes a row for all of its slots on a rank. So what one rank sends another (`getPairRows`) is at most max_tokens rows, and with
    transport `capacity` at most `pair_capacity`. What arrives on a rank has room for as much from each: its *arrivals* are
    ranks * max_tokens rows, or ranks * min(max_tokens, pair_capacity).

    A route cannot be passed to or returned from a function.
    Example: `!moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>`,
    `!moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, transport = capacity, pair_capacity = 40>`.
  }];
  let parameters = (ins StringRefParameter<"mesh axis">:$axis, "int64_t":$ranks, "int64_t":$groups, "int64_t":$topk, "int64_t":$max_tokens,
    DefaultValuedParameter<"int64_t", "::mlir::ShapedType::kDynamic">:$tokens,
    DefaultValuedParameter<"::mlir::moe::Transport", "::mlir::moe::Transport::Exact">:$transport,
    DefaultValuedParameter<"int64_t", "0">:$pair_capacity);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether every rank sends every other as many rows.
    bool hasEqualBlocks() const { return getTransport() == Transport::Capacity; }
    /// The most rows of tokens that one rank sends another.
    int64_t getPairRows() const {
      return hasEqualBlocks() ? ::std::min(getMaxTokens(), getPairCapacity()) : getMaxTokens();
    }
    /// Rows of what arrives on a rank.
    int64_t getArrivals() const { return getRanks() * getPairRows(); }
  }];
}

#endif
