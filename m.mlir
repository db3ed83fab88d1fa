
module {
  llvm.func @scale(%p: !llvm.ptr, %n: i64) {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    %c = llvm.mlir.constant(2.0 : f32) : f32
    llvm.br ^loop(%zero : i64)
  ^loop(%i: i64):
    %q = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %q : !llvm.ptr -> f32
    %y = llvm.fmul %x, %c : f32
    llvm.store %y, %q : f32, !llvm.ptr
    %j = llvm.add %i, %one : i64
    %more = llvm.icmp "slt" %j, %n : i64
    llvm.cond_br %more, ^loop(%j : i64), ^end
  ^end:
    llvm.return
  }
}
