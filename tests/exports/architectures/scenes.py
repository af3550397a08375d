# SPDX-License-Identifier: Apache-2.0
"""Segmentation, detection, video and optical flow of torchvision, on small backbones.

Detectors end in non-maximum suppression, so sizes of their results are known only in a run. Their heads keep few boxes, and
scores of random weights are spread, so that rounding does not decide which boxes stay.
"""
import torch
import torchvision
from torch import nn
from torchvision.models import optical_flow, resnet, segmentation, video
from torchvision.models._utils import IntermediateLayerGetter
from torchvision.models.detection import FCOS, FasterRCNN, KeypointRCNN, MaskRCNN, RetinaNet, backbone_utils, faster_rcnn
from torchvision.models.detection import ssdlite320_mobilenet_v3_large
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.ops import MultiScaleRoIAlign

from .common import Architecture, Picked, noise, picture


def dilated_backbone():
    net = resnet.ResNet(resnet.Bottleneck, [1, 1, 1, 1], width_per_group=16, replace_stride_with_dilation=[True, True, True])
    return IntermediateLayerGetter(net, {"layer2": "out"})


def pyramid(**options):
    net = resnet.ResNet(resnet.BasicBlock, [1, 1, 1, 1])
    layers = {f"layer{k}": str(k - 1) for k in range(1, 5)}
    return backbone_utils.BackboneWithFPN(net, layers, [64, 128, 256, 512], 32, **options)


ANCHORS = dict(min_size=96, max_size=128, num_classes=4)
REGIONS = dict(rpn_pre_nms_top_n_test=40, rpn_post_nms_top_n_test=12, box_detections_per_img=6, box_score_thresh=0.02,
               **ANCHORS)


def box_head():
    return faster_rcnn.TwoMLPHead(32 * 49, 32)


def region_options():
    return dict(rpn_anchor_generator=AnchorGenerator(((16,), (32,), (64,), (96,), (128,)), ((0.5, 1.0, 2.0),) * 5),
                box_head=box_head(), box_predictor=faster_rcnn.FastRCNNPredictor(32, 4), **{**REGIONS, "num_classes": None})


def mask_head():
    return dict(mask_roi_pool=MultiScaleRoIAlign(["0", "1", "2", "3"], 14, 2),
                mask_head=torchvision.models.detection.mask_rcnn.MaskRCNNHeads(32, (16, 16), 1),
                mask_predictor=torchvision.models.detection.mask_rcnn.MaskRCNNPredictor(16, 16, 4))


def keypoint_head():
    kp = torchvision.models.detection.keypoint_rcnn
    return dict(keypoint_head=kp.KeypointRCNNHeads(32, (16, 16)), keypoint_predictor=kp.KeypointRCNNPredictor(16, 5))


class Detector(nn.Module):
    """Takes one picture; gives boxes, labels, scores and whatever else the detector finds."""

    def __init__(self, model, *more):
        super().__init__()
        self.model, self.more = model, more
        for name, weight in model.named_parameters():
            if "backbone.body" in name or weight.dim() < 2:
                continue
            nn.init.kaiming_normal_(weight)
            if any(part in name for part in ("cls_score", "cls_logits", "bbox_pred", "bbox_reg")):
                weight.data.mul_(0.2)
            elif "module_list" in name:  # the heads of SSD
                weight.data.mul_(0.1)

    def forward(self, picture):
        found = self.model([picture])
        found = (found[1] if isinstance(found, tuple) else found)[0]
        return tuple(found[key] for key in ("boxes", "labels", "scores", *self.more))


def one_picture(height, width):
    return lambda batch: (torch.rand(3, height, width, generator=torch.Generator().manual_seed(batch)),)


def detector(make, *more):
    return Architecture(lambda: Detector(make(), *more), one_picture(48, 64), axes=None, first_opset=11)


class Slowfast(nn.Module):
    """Two pathways of different frame rates with a lateral connection."""

    def __init__(self):
        super().__init__()
        self.slow = nn.Conv3d(3, 16, (1, 5, 5), (1, 2, 2), (0, 2, 2))
        self.fast = nn.Conv3d(3, 4, (3, 5, 5), (1, 2, 2), (1, 2, 2))
        self.lateral = nn.Conv3d(4, 8, (5, 1, 1), (4, 1, 1), (2, 0, 0))
        self.join, self.deep = nn.Conv3d(24, 32, 3, 2, 1), nn.Conv3d(4, 8, 3, 2, 1)
        self.head = nn.Linear(40, 5)

    def forward(self, x):
        fast = torch.relu(self.fast(x))
        slow = torch.cat([torch.relu(self.slow(x[:, :, ::4])), self.lateral(fast)], 1)
        parts = [torch.relu(self.join(slow)).mean((2, 3, 4)), torch.relu(self.deep(fast)).mean((2, 3, 4))]
        return self.head(torch.cat(parts, 1))


class Correlation(optical_flow.raft.CorrBlock):
    """As torchvision's, less a root of an integer, which the exporter writes as an operator that does not exist."""

    def _compute_corr_volume(self, a, b):
        n, c, h, w = a.shape
        return (a.flatten(2).transpose(1, 2) @ b.flatten(2)).view(n, h, w, 1, h, w) / 24 ** 0.5


def small_raft():
    raft = optical_flow.raft
    encoders = dict(feature_encoder_layers=(16, 16, 24, 32, 24), feature_encoder_block=raft.ResidualBlock,
                    feature_encoder_norm_layer=nn.InstanceNorm2d, context_encoder_layers=(16, 16, 24, 32, 56),
                    context_encoder_block=raft.ResidualBlock, context_encoder_norm_layer=nn.BatchNorm2d)
    motion = dict(motion_encoder_corr_layers=(24,), motion_encoder_flow_layers=(16, 8), motion_encoder_out_channels=30)
    recurrent = dict(recurrent_block_hidden_state_size=32, recurrent_block_kernel_size=((3, 3),),
                     recurrent_block_padding=((1, 1),), flow_head_hidden_size=24, use_mask_predictor=False)
    return LastFlow(raft._raft(corr_block=Correlation(num_levels=2, radius=2), corr_block_num_levels=2, corr_block_radius=2,
                               **encoders, **motion, **recurrent))


class LastFlow(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, a, b):
        return self.model(a, b, num_flow_updates=2)[-1]


MODELS = {
    "fcn": Architecture(lambda: Picked(segmentation.FCN(dilated_backbone(), segmentation.fcn.FCNHead(512, 5)), "out"),
                        picture(49), first_opset=11),
    "deeplab_v3": Architecture(lambda: Picked(segmentation.DeepLabV3(dilated_backbone(), segmentation.deeplabv3.DeepLabHead(
        512, 5)), "out"), picture(49), first_opset=11),
    "lraspp": Architecture(lambda: Picked(segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None), "out"),
                           picture(65), first_opset=11),
    "faster_rcnn": detector(lambda: FasterRCNN(pyramid(), **region_options())),
    "mask_rcnn": detector(lambda: MaskRCNN(pyramid(), **region_options(), **mask_head()), "masks"),
    "keypoint_rcnn": detector(lambda: KeypointRCNN(pyramid(), **region_options(), **keypoint_head()), "keypoints"),
    "retinanet": detector(lambda: RetinaNet(pyramid(), score_thresh=0.03, topk_candidates=20, detections_per_img=8,
                                            anchor_generator=AnchorGenerator(((16,), (32,), (48,), (64,), (96,)),
                                                                             ((0.5, 1.0, 2.0),) * 5), **ANCHORS)),
    "fcos": detector(lambda: FCOS(pyramid(), score_thresh=0.03, topk_candidates=20, detections_per_img=8,
                                  anchor_generator=AnchorGenerator(((8,), (16,), (32,), (64,), (96,)),
                                                                   ((1.0,),) * 5), **ANCHORS)),
    "ssdlite": detector(lambda: ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4,
                                                              topk_candidates=20, detections_per_img=8)),
    "r3d_18": Architecture(lambda: video.resnet.VideoResNet(
        video.resnet.BasicBlock, [video.resnet.Conv3DSimple] * 4, [1] * 4, video.resnet.BasicStem, 10), noise(3, 5, 24, 25)),
    "r2plus1d": Architecture(lambda: video.resnet.VideoResNet(
        video.resnet.BasicBlock, [video.resnet.Conv2Plus1D] * 4, [1] * 4, video.resnet.R2Plus1dStem, 10), noise(3, 5, 24, 25)),
    "slowfast": Architecture(Slowfast, noise(3, 9, 25, 27)),
    "raft": Architecture(small_raft, lambda batch: (torch.rand(batch, 3, 64, 72) * 2 - 1, torch.rand(batch, 3, 64, 72) * 2 - 1),
                         first_opset=16),
}
