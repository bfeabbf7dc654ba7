// SPDX-License-Identifier: Apache-2.0
#pragma once
#define TLLM_GEN_COMMIT "x"
struct TllmGenFmhaKernelMetaInfo
{
Data_type mDataTypeQ;
Data_type mDataTypeKv;
Data_type mDataTypeO;
int mTileSizeQ;
int mHeadDimQk;
int mHeadDimV;
int mSM;
const char* mFuncName;
int mSharedMemBytes;
int mKernelType;
int mQkvLayout;
int mNumTokensPerPage;
int mMultiCtasKvMode;
const char* sha256;
};
static const TllmGenFmhaKernelMetaInfo sList[] = {
{ DATA_TYPE_BF16, DATA_TYPE_E4M3, DATA_TYPE_BF16, 8, 128, 128, kSM_100f, "fmhaPagedKvDenseP64VarSeq", 50000, 2, 2, 32, 1, "cc0d92c711fcee1697819814ee0b868e73e314a8de49815dd280da2ecafebb03"},
{ DATA_TYPE_BF16, DATA_TYPE_E4M3, DATA_TYPE_BF16, 8, 128, 128, kSM_103, "b", 50000, 0, 2, 0, 0, "cc0d92c711fcee1697819814ee0b868e73e314a8de49815dd280da2ecafebb04"},
};
