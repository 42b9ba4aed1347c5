; Eight words plus eight words, least significant first; the last result is the carry. One 288-bit addition.
define { i32, i32, i32, i32, i32, i32, i32, i32, i32 } @here(i32 %b0, i32 %b1, i32 %b2, i32 %b3, i32 %b4, i32 %b5, i32 %b6, i32 %b7, i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %a4, i32 %a5, i32 %a6, i32 %a7) {
  %av0 = insertelement <9 x i32> zeroinitializer, i32 %a0, i32 0
  %av1 = insertelement <9 x i32> %av0, i32 %a1, i32 1
  %av2 = insertelement <9 x i32> %av1, i32 %a2, i32 2
  %av3 = insertelement <9 x i32> %av2, i32 %a3, i32 3
  %av4 = insertelement <9 x i32> %av3, i32 %a4, i32 4
  %av5 = insertelement <9 x i32> %av4, i32 %a5, i32 5
  %av6 = insertelement <9 x i32> %av5, i32 %a6, i32 6
  %av7 = insertelement <9 x i32> %av6, i32 %a7, i32 7
  %a = bitcast <9 x i32> %av7 to i288
  %bv0 = insertelement <9 x i32> zeroinitializer, i32 %b0, i32 0
  %bv1 = insertelement <9 x i32> %bv0, i32 %b1, i32 1
  %bv2 = insertelement <9 x i32> %bv1, i32 %b2, i32 2
  %bv3 = insertelement <9 x i32> %bv2, i32 %b3, i32 3
  %bv4 = insertelement <9 x i32> %bv3, i32 %b4, i32 4
  %bv5 = insertelement <9 x i32> %bv4, i32 %b5, i32 5
  %bv6 = insertelement <9 x i32> %bv5, i32 %b6, i32 6
  %bv7 = insertelement <9 x i32> %bv6, i32 %b7, i32 7
  %b = bitcast <9 x i32> %bv7 to i288
  %sum = add i288 %a, %b
  %words = bitcast i288 %sum to <9 x i32>
  %w0 = extractelement <9 x i32> %words, i32 0
  %r0 = insertvalue { i32, i32, i32, i32, i32, i32, i32, i32, i32 } poison, i32 %w0, 0
  %w1 = extractelement <9 x i32> %words, i32 1
  %r1 = insertvalue { i32, i32, i32, i32, i32, i32, i32, i32, i32 } %r0, i32 %w1, 1
  %w2 = extractelement <9 x i32> %words, i32 2
  %r2 = insertvalue { i32, i32, i32, i32, i32, i32, i32, i32, i32 } %r1, i32 %w2, 2
  %w3 = extractelement <9 x i32> %words, i32 3
  %r3 = insertvalue { i32, i32, i32, i32, i32, i32, i32, i32, i32 } %r2, i32 %w3, 3
  %w4 = extractelement <9 x i32> %words, i32 4
  %r4 = insertvalue { i32, i32, i32, i32, i32, i32, i32, i32, i32 } %r3, i32 %w4, 4
  %w5 = extractelement <9 x i32> %words, i32 5
  %r5 = insertvalue { i32, i32, i32, i32, i32, i32, i32, i32, i32 } %r4, i32 %w5, 5
  %w6 = extractelement <9 x i32> %words, i32 6
  %r6 = insertvalue { i32, i32, i32, i32, i32, i32, i32, i32, i32 } %r5, i32 %w6, 6
  %w7 = extractelement <9 x i32> %words, i32 7
  %r7 = insertvalue { i32, i32, i32, i32, i32, i32, i32, i32, i32 } %r6, i32 %w7, 7
  %w8 = extractelement <9 x i32> %words, i32 8
  %r8 = insertvalue { i32, i32, i32, i32, i32, i32, i32, i32, i32 } %r7, i32 %w8, 8
  ret { i32, i32, i32, i32, i32, i32, i32, i32, i32 } %r8
}
